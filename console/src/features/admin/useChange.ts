import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { Noun } from "~/api/keys";
import { say } from "~/ui/toast";

/** Does something and asks anew for what it changed, which no event tells of. */
export function useChange(noun: Noun) {
  const client = useQueryClient();
  return useCallback(
    async <T>(doing: Promise<T>, done: string): Promise<T> => {
      const answer = await doing;
      await client.invalidateQueries({ queryKey: [noun] });
      say(done);
      return answer;
    },
    [client, noun],
  );
}

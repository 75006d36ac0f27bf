/** Lays the graph out beside the page, which stays quick meanwhile. */
import { arrange, type Shape } from "./layout";

self.onmessage = (message: MessageEvent<{ key: string; shape: Shape }>) => {
  const { key, shape } = message.data;
  try {
    self.postMessage({ key, layout: arrange(shape) });
  } catch (error) {
    self.postMessage({ key, problem: error instanceof Error ? error.message : String(error) });
  }
};

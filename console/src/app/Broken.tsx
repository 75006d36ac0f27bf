import { Compass } from "lucide-react";
import { useRouteError } from "react-router";
import { Link } from "~/ui/Link";
import { Empty, Failure } from "~/ui/Messages";
import { Page } from "~/ui/Page";

const GONE =
  "This screen's files did not come. The server cannot be reached, or it has a newer console by now.";

/** Where a screen itself broke, or its files are of an older console and gone. */
export function Broken() {
  const error = useRouteError();
  const old = error instanceof Error && /import|module/i.test(error.message);
  return (
    <Page title="This screen cannot be shown">
      <Failure error={old ? new Error(GONE) : error} retry={() => window.location.reload()} />
    </Page>
  );
}

export function NotThere() {
  return (
    <Page title="Nothing here">
      <Empty title="There is no such page." icon={Compass}>
        <Link to="/">Home</Link> shows what ran last.
      </Empty>
    </Page>
  );
}

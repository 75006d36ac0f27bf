/** A chart by Observable Plot, which is loaded when one is first shown. */
import { lazy, Suspense } from "react";
import { Loading } from "../Messages";
import type { PlotProps } from "./Plot";

const LazyPlot = lazy(() => import("./Plot"));

export function Chart(props: PlotProps) {
  return (
    <Suspense fallback={<Loading what="Loading the chart" />}>
      <LazyPlot {...props} />
    </Suspense>
  );
}

/** Rows of a result, fetched page by page as they come into view; the oldest are forgotten. */
export const PAGE = 500;
const KEPT = 60;

export class Pages {
  private readonly pages = new Map<number, unknown[][]>();
  private readonly asked = new Set<number>();

  constructor(
    private readonly fetchPage: (start: number, limit: number) => Promise<unknown[][]>,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
    private readonly kept = KEPT,
  ) {}

  row(index: number): unknown[] | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Rows that are here, from the first on, without a gap. */
  first(most: number): unknown[][] {
    const found: unknown[][] = [];
    for (let n = 0; found.length < most; n += 1) {
      const page = this.pages.get(n);
      if (!page) break;
      found.push(...page);
      if (page.length < PAGE) break;
    }
    return found.slice(0, most);
  }

  /** Fetches what is not here of these rows. A page that was short is fetched again. */
  async want(first: number, last: number, count: number): Promise<void> {
    const wanted: Promise<void>[] = [];
    for (let n = Math.floor(first / PAGE); n <= Math.floor(last / PAGE); n += 1) {
      const whole = Math.min(PAGE, count - n * PAGE);
      const page = this.pages.get(n);
      if (whole <= 0 || this.asked.has(n)) continue;
      if (page && page.length >= whole) {
        this.pages.delete(n);
        this.pages.set(n, page); // the newest in use are last
        continue;
      }
      wanted.push(this.load(n));
    }
    await Promise.all(wanted);
  }

  private async load(n: number): Promise<void> {
    this.asked.add(n);
    try {
      this.pages.set(n, await this.fetchPage(n * PAGE, PAGE));
      for (const old of this.pages.keys()) {
        if (this.pages.size <= this.kept) break;
        if (old !== n) this.pages.delete(old);
      }
      this.changed();
    } catch (error) {
      this.failed(error);
    } finally {
      this.asked.delete(n);
    }
  }
}

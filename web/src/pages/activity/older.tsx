/** Older items of a list whose newest page is loaded again and again. */
import { useSignal } from '@preact/signals';
import { type ComponentChildren, Fragment } from 'preact';
import { asProblem, type Problem } from '../../api/problem';
import { Button } from '../../ui/button';
import { ProblemNotice } from '../../ui/state';

interface ListPage<Item> {
  metadata: { continue?: string | undefined };
  items: readonly Item[];
}

interface OlderProps<Item> {
  newest: ListPage<Item>;
  idOf: (item: Item) => string;
  /** Reads the page after a place. */
  read: (place: string) => Promise<ListPage<Item>>;
  labels: { older: string; between: string };
  /** Table of items that the newest page does not have. */
  children: (items: readonly Item[]) => ComponentChildren;
}

interface ReadPage<Item> extends ListPage<Item> {
  /** Place after which the page begins. Missing for a page that was the newest. */
  after?: string;
}

/**
 * Shows older items, a page at a time. The newest page moves on meanwhile, and the page that was the newest is kept. A button reads items that
 * may be missing between two pages.
 */
export function Older<Item>({ newest, idOf, read, labels, children }: OlderProps<Item>) {
  const kept = useSignal<readonly ReadPage<Item>[]>([]);
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | undefined>(undefined);
  const pages = [newest, ...kept.value];
  async function readAfter(index: number, after: string): Promise<void> {
    isBusy.value = true;
    try {
      const page = { ...(await read(after)), after };
      const isFirst = index === 0;
      kept.value = [...pages.slice(isFirst ? 0 : 1, index + 1), page, ...pages.slice(index + 1)];
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  const parts = partsOf(pages, idOf);
  return (
    <>
      {parts.map(({ items, end }, index) => {
        const place = pages[end]?.metadata.continue;
        const isLast = index === parts.length - 1;
        return (
          <Fragment key={index}>
            {items.length > 0 && children(items)}
            {isLast && problem.value && <ProblemNotice of={problem.value} />}
            {place !== undefined && (
              <div class="buttons">
                <Button isBusy={isBusy.value} onClick={() => void readAfter(end, place)}>
                  {isLast ? labels.older : labels.between}
                </Button>
              </div>
            )}
          </Fragment>
        );
      })}
    </>
  );
}

interface Part<Item> {
  /** Items that no newer page has. */
  items: Item[];
  /** Index of its last page. */
  end: number;
}

/** Returns parts of pages without a gap. The first one begins with the newest page, whose items it leaves out. */
function partsOf<Item>(pages: readonly ReadPage<Item>[], idOf: (item: Item) => string): Part<Item>[] {
  const parts: Part<Item>[] = [];
  const seen = new Set<string>();
  for (const [end, page] of pages.entries()) {
    const newer = pages[end - 1];
    const items = page.items.filter((item) => !seen.has(idOf(item)));
    const isJoined = newer === undefined || joins(newer, page, idOf);
    for (const item of items) seen.add(idOf(item));
    const part = parts.at(-1);
    if (part === undefined || !isJoined) parts.push({ items: newer === undefined ? [] : items, end });
    else Object.assign(part, { items: [...part.items, ...items], end });
  }
  return parts;
}

/** Reports whether no item is missing between two pages: one begins at the end of the other, or they share an item. */
function joins<Item>(newer: ReadPage<Item>, older: ReadPage<Item>, idOf: (item: Item) => string): boolean {
  const place = newer.metadata.continue;
  if (place === undefined || place === older.after) return true;
  const ids = new Set(newer.items.map(idOf));
  return older.items.some((item) => ids.has(idOf(item)));
}

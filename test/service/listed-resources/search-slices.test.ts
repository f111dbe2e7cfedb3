import { setImmediate as nextTurn } from 'node:timers/promises';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SearchService } from '../../../src/search/search.ts';
import { opened, type SearchSource } from '../../../src/search/sources.ts';

/** Rows of a slice of `search/search.ts`, and of a chunk of each other search that waits for the same turn. */
const maxRows = 16 * 128;
const chunk = 128;

describe('a search of many rows', () => {
  let visited = 0;
  function* rows(count: number) {
    for (let index = 0; index < count; index += 1) {
      visited += 1;
      yield `object-${index}`;
    }
  }
  const source = (resource: string, count: number): SearchSource => ({
    type: { group: 'example.com', version: 'v1', resource },
    open: async () =>
      opened({
        rows: rows(count),
        fits: undefined,
        texts: { names: [(row: string) => row], labels: () => ({}), images: () => '' },
        compare: (left, right) => left.localeCompare(right),
        shown: (name) => ({ name, uid: name }),
      }),
  });

  /** Runs concurrent searches of several callers. @returns the maximum number of rows that were tested in one turn of the event loop */
  async function mostRowsInATurn(sources: readonly SearchSource[], searches: number): Promise<number> {
    const service = new SearchService(sources, new Metrics());
    const parameters = { q: 'object-9999', kinds: [], namespace: '', limit: 20 };
    const { signal } = new AbortController();
    let isRunning = true;
    let most = 0;
    const watching = (async () => {
      for (let before = visited; isRunning; before = visited) {
        await nextTurn();
        most = Math.max(most, visited - before);
      }
    })();
    const callers = Array.from({ length: searches }, (_, index) => ({
      ...{ token: `${index}`, hash: `${index}` },
      identity: { name: `caller-${index}`, uid: '', groups: [], extra: {} },
    }));
    const answers = await Promise.all(callers.map((caller) => service.search(parameters, caller, signal)));
    isRunning = false;
    await watching;
    for (const { kinds } of answers) expect(kinds.some(({ items }) => items.length > 0)).to.equal(true);
    return most;
  }

  it('looks at 2,048 rows at most before the event loop turns', async () => {
    expect(await mostRowsInATurn([source('many', 30_000)], 1)).to.be.within(1, maxRows);
  });

  it('counts rows of small kinds together', async () => {
    const small = Array.from({ length: 100 }, (_, index) => source(`small-${index}`, 100));

    expect(await mostRowsInATurn([...small, source('many', 10_000)], 1)).to.be.within(1, maxRows);
  });

  it('shares that with the searches of other callers', async () => {
    expect(await mostRowsInATurn([source('many', 10_000)], 4)).to.be.within(1, maxRows + 3 * chunk);
  });
});

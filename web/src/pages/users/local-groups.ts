/** Local groups of the users in sight: their cells are filled by one request, and again at an interval. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { usePoll } from '../../api/poll';
import { asProblem, type Problem } from '../../api/problem';

export type LocalGroups = { names: readonly string[] } | { problem: Problem };

/** Rows that scroll by are not asked for. */
const pauseMs = 50;
const maxNames = 100;
/** The service's list of users does not follow groups. */
const everyMs = 20_000;

/** Users whose cells are in the page. */
const shown = new Set<string>();
/** Users of requests that are not answered. */
const asked = new Set<string>();
const answers = signal<ReadonlyMap<string, LocalGroups>>(new Map());
let isAsking = false;

/** Requests the local groups of a user whose cell is in the page, if the caller may list groups. */
export function useShown(name: string, isKnowable: boolean): void {
  useEffect(() => {
    if (!isKnowable) return;
    shown.add(name);
    askSoon();
    return () => void shown.delete(name);
  }, [name, isKnowable]);
}

/**
 * Returns the local groups of the users that were shown, by user, and reads them again as long as the page is shown. The page hands them
 * to the cells, because columns are fitted to the contents that are rendered with the table.
 */
export function useLocalGroups(): ReadonlyMap<string, LocalGroups> {
  usePoll({ reload: askAll }, everyMs);
  useEffect(
    () => () => {
      answers.value = new Map();
    },
    [],
  );
  return answers.value;
}

const askAll = (): Promise<void> => ask([...shown]);

function askSoon(): void {
  if (isAsking) return;
  isAsking = true;
  setTimeout(() => {
    isAsking = false;
    void ask([...shown].filter((name) => !answers.peek().has(name) && !asked.has(name)));
  }, pauseMs);
}

async function ask(names: readonly string[]): Promise<void> {
  for (let from = 0; from < names.length; from += maxNames) {
    const some = names.slice(from, from + maxNames);
    const found = await read(some);
    // Rows that were scrolled away are asked for again.
    answers.value = new Map([...answers.peek(), ...found].filter(([name]) => shown.has(name)));
  }
}

async function read(names: readonly string[]): Promise<readonly (readonly [string, LocalGroups])[]> {
  for (const name of names) asked.add(name);
  try {
    const { items } = await bodyOf(api.GET('/auth/v1/memberships', { params: { query: { names: [names.join()] } } }));
    return items.map(({ name, groups }) => [name, { names: groups }]);
  } catch (error) {
    return names.map((name) => [name, { problem: asProblem(error) }]);
  } finally {
    for (const name of names) asked.delete(name);
  }
}

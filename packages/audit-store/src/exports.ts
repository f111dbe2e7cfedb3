import type { Kysely } from 'kysely';
import { type EventDatabase, replaceNumbers } from './queries.ts';
import type { Tables } from './tables.ts';

/** Returns the number through which events were exported; 0 before the first export. */
export async function exportedThrough(db: Kysely<Tables>): Promise<number> {
  return (await db.selectFrom('exports').select('sequence').executeTakeFirst())?.sequence ?? 0;
}

export const rememberExported = (database: EventDatabase, sequence: number): Promise<void> =>
  replaceNumbers(database, 'exports', [sequence]);

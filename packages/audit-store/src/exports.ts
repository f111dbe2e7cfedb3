import type { Kysely } from 'kysely';
import type { EventDatabase } from './queries.ts';
import type { Tables } from './tables.ts';

/** Returns the number through which events were exported; 0 before the first export. */
export async function exportedThrough(db: Kysely<Tables>): Promise<number> {
  return (await db.selectFrom('exports').select('sequence').executeTakeFirst())?.sequence ?? 0;
}

export async function rememberExported({ db, begin }: EventDatabase, sequence: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    await transaction.deleteFrom('exports').execute();
    await transaction.insertInto('exports').values({ sequence }).execute();
  });
}

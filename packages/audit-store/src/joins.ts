/**
 * Requests that both a door and the API server tell, and writes that both the service and the API server tell. The door and the service
 * send the id of their event along, and their event stays alone. A sender past the door can choose the id of an event that it knows: an
 * event of the API server is therefore left out only if it is about the same act, and once for each event of a door.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Transaction } from 'kysely';
import type { AuditEvent } from './event.ts';
import { appendIn, type EventDatabase, knownIDs } from './queries.ts';
import { type ApiServerEvent, type Joined, ownWriteMark } from './store.ts';
import { eventOf, stored, type Tables } from './tables.ts';

/** Events in one statement. */
const atOnce = 500;
/** Longest time between both events of an act: both clocks may be wrong. */
const maxApartMs = 300_000;
/** Events that wait at a time: those of two minutes with 80 a second. A sender past the door makes further ones with ids of its own. */
const maxWaiting = 10_000;

/** Appends the events that are not there yet. Events of the API server that waited for one of them are joined with it. */
export async function appendEvents(database: EventDatabase, events: readonly AuditEvent[]): Promise<void> {
  const { db, begin } = database;
  database.indexed = await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    let indexed = await appendIn(transaction, events, database);
    for (let from = 0; from < events.length; from += atOnce) {
      const doors = events.slice(from, from + atOnce).filter(isOfDoor);
      if (doors.length === 0) continue;
      const doorIDs = doors.map(({ auditID }) => stored(auditID));
      const waiting = await transaction.selectFrom('unjoined').selectAll().where('door_id', 'in', doorIDs).execute();
      if (waiting.length === 0) continue;
      await remove(transaction, waiting);
      const { own } = await joined(transaction, waiting.map(apiServerEventOf));
      indexed = await appendIn(transaction, own, database);
    }
    return indexed;
  });
}

/** Takes events of the API server. */
export async function joinEvents(database: EventDatabase, events: readonly ApiServerEvent[], now: Date): Promise<Joined> {
  const { db, begin } = database;
  const counts = { appended: 0, joined: 0, waiting: 0 };
  database.indexed = await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    let { indexed } = database;
    for (let from = 0; from < events.length; from += atOnce) {
      const part = events.slice(from, from + atOnce);
      const { own, early, isJoined } = await joined(transaction, part);
      const { waiting, further } = await divided(transaction, early);
      own.push(...further.map(({ event }) => event));
      indexed = await appendIn(transaction, own, database);
      const rows = waiting.map(({ event, doorID = '' }) => ({
        ...{ id: stored(event.auditID), door_id: stored(doorID), time: now.getTime() },
        event: JSON.stringify(event),
      }));
      if (rows.length > 0) await transaction.insertInto('unjoined').values(rows).execute();
      counts.appended += own.length;
      counts.joined += isJoined;
      counts.waiting += waiting.length;
    }
    return indexed;
  });
  return counts;
}

/**
 * Returns events that wait from now on, and those for which there is no room: an event that waits has no place in the chain, and the
 * retention does not remove it. Events that wait already are in neither.
 */
async function divided(transaction: Transaction<Tables>, early: readonly ApiServerEvent[]) {
  if (early.length === 0) return { waiting: [], further: [] };
  const table = transaction.selectFrom('unjoined');
  const ids = early.map(({ event }) => stored(event.auditID));
  const known = new Set((await table.select('id').where('id', 'in', ids).execute()).map(({ id }) => id));
  const fresh = new Map(early.map((told) => [stored(told.event.auditID), told] as const).filter(([id]) => !known.has(id)));
  const { count } = await table.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  const room = Math.max(0, maxWaiting - Number(count));
  const events = [...fresh.values()];
  return { waiting: events.slice(0, room), further: events.slice(room) };
}

/** Appends the events that waited since before a time, in transactions between which other calls have their turn. */
export async function settleEvents(database: EventDatabase, before: number): Promise<number> {
  for (let total = 0; ; ) {
    const count = await settleNext(database, before);
    total += count;
    if (count < atOnce) return total;
    // SQLite answers within a turn of the event loop.
    await nextTurn();
  }
}

async function settleNext(database: EventDatabase, before: number): Promise<number> {
  const { db, begin } = database;
  let count = 0;
  database.indexed = await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const late = transaction.selectFrom('unjoined').selectAll().where('time', '<', before).orderBy('time').orderBy('id');
    const waiting = await late.limit(atOnce).execute();
    if (waiting.length === 0) return database.indexed;
    await remove(transaction, waiting);
    count = waiting.length;
    return await appendIn(
      transaction,
      waiting.map((row) => apiServerEventOf(row).event),
      database,
    );
  });
  return count;
}

type Waiting = Tables['unjoined'];

const apiServerEventOf = ({ event, door_id: doorID }: Waiting): ApiServerEvent => ({ event: JSON.parse(event) as AuditEvent, doorID });

const remove = (transaction: Transaction<Tables>, waiting: readonly Waiting[]) =>
  transaction
    .deleteFrom('unjoined')
    .where(
      'id',
      'in',
      waiting.map(({ id }) => id),
    )
    .execute();

/** Joins events with those of doors. Returns the others: those of their own, and those whose door has told nothing yet. */
async function joined(transaction: Transaction<Tables>, events: readonly ApiServerEvent[]) {
  const ids = events.map(({ event }) => stored(event.auditID));
  const known = new Set(await knownIDs(transaction, ids));
  const doors = await doorsOf(transaction, events);
  const own: AuditEvent[] = [];
  const early: ApiServerEvent[] = [];
  const joins: Tables['joins'][] = [];
  for (const told of events) {
    const id = stored(told.event.auditID);
    const door = told.doorID === undefined ? undefined : doors.get(stored(told.doorID));
    // A batch may come twice.
    if (known.has(id) || door?.joinedBy === id) continue;
    if (told.doorID === undefined) own.push(told.event);
    else if (door === undefined) early.push(told);
    else if (door.joinedBy === undefined && isSameAct(door.event, told.event)) {
      door.joinedBy = id;
      joins.push({ sequence: door.sequence, id });
    } else own.push(told.event);
  }
  if (joins.length > 0) await transaction.insertInto('joins').values(joins).execute();
  return { own, early, isJoined: joins.length };
}

interface Door {
  sequence: number;
  event: AuditEvent;
  /** Id of the event of the API server about the same act. */
  joinedBy: string | undefined;
}

/** Begin of the ids of events of the service whose write went to the API server with this id, as `sent-writes.ts` of `http` makes them. */
const writeMark = 'write-';

/** Reports whether an event of the service tells a write with its account. */
const isOwnWrite = ({ source, auditID }: Pick<AuditEvent, 'source' | 'auditID'>): boolean =>
  source === 'service' && auditID.startsWith(ownWriteMark);

/** Reports whether an event stands for a request that the API server tells, too. */
const isOfDoor = (event: Pick<AuditEvent, 'source' | 'auditID'>): boolean =>
  event.source === 'door' || (event.source === 'service' && event.auditID.startsWith(writeMark)) || isOwnWrite(event);

/** Returns events of doors, and of writes of the service, by their ids. */
async function doorsOf(db: Kysely<Tables>, events: readonly ApiServerEvent[]): Promise<Map<string, Door>> {
  const doorIDs = [...new Set(events.flatMap(({ doorID }) => (doorID === undefined ? [] : [stored(doorID)])))];
  if (doorIDs.length === 0) return new Map();
  const rows = await db
    .selectFrom('events')
    .leftJoin('joins', 'joins.sequence', 'events.sequence')
    .selectAll('events')
    .select('joins.id as joined_by')
    .where('events.id', 'in', doorIDs)
    .execute();
  const doors = rows.map(({ joined_by, ...row }) => ({ sequence: row.sequence, event: eventOf(row), joinedBy: joined_by ?? undefined }));
  return new Map(doors.filter(({ event }) => isOfDoor(event)).map((door) => [stored(door.event.auditID), door]));
}

/** Writes whose body says that they are dry runs. The API server does not tell the body. */
const hasOptionsInBody = /^delete |^deletecollection |^create pods\/eviction$/;

/**
 * Compares what both events tell. An event of a door whose outcome is not known, or is a different one, leaves the other event its own
 * place: the API server knows better.
 */
function isSameAct(door: AuditEvent, told: AuditEvent): boolean {
  const [one, other] = [door, told].map((event) => ({
    ...{ write: writeOf(event), apiGroup: event.objectRef.apiGroup, outcome: event.outcome },
    dryRun: hasOptionsInBody.test(writeOf(event)) ? undefined : event.dryRun === true,
  }));
  const isSame = isDeepStrictEqual(one, other) && isDeepStrictEqual(connectionOf(door), connectionOf(told));
  const apart = Math.abs(Date.parse(door.requestReceivedTimestamp) - Date.parse(told.requestReceivedTimestamp));
  // The user of an event of the service is the one for whom its account made the write.
  return isSame && isSameObject(door, told) && (isOwnWrite(door) || userOf(door) === userOf(told)) && apart <= maxApartMs;
}

/**
 * Compares the objects of both events. The API server does not know a name that it generates, and the door no name of a refused creation:
 * its URL has none, and its answer is none of an object. The API server gives a namespace its own name as its namespace.
 */
function isSameObject({ outcome, objectRef: one }: AuditEvent, { verb, objectRef: other }: AuditEvent): boolean {
  const [name = '', told = ''] = [one.name, other.name];
  const isUnknown = verb === 'create' && (told === '' || (name === '' && outcome === 'failure'));
  const isNamespace = one.apiGroup === '' && one.resource === 'namespaces';
  return (name === told || isUnknown) && (isNamespace || (one.namespace ?? '') === (other.namespace ?? ''));
}

/** Returns verb, resource and subresource of the request at the API server. */
const writeOf = ({ write, verb, objectRef: { resource, subresource } }: AuditEvent): string =>
  write ?? `${verb} ${resource}${subresource ? `/${subresource}` : ''}`;

/** Returns the user whose rights decided. */
const userOf = ({ user, impersonatedUser }: AuditEvent) => impersonatedUser?.username ?? user?.username;

function connectionOf({ connection: { container, command, ports, tty } = {}, objectRef }: AuditEvent) {
  // The API server does not tell the body, which has the debug container.
  return objectRef.subresource === 'ephemeralcontainers' ? {} : { container, command, ports, tty };
}

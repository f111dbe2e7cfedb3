import {
  type Client,
  type Entry,
  type Filter,
  MessageResponseStatus,
  PagedResultsControl,
  PresenceFilter,
  type SearchEntry,
  SearchRequest,
  type SearchResponse,
  StatusCodeParser,
} from 'ldapts';
import { DirectoryError, reasonOf } from './connection.ts';

/** Entries of a search that the directory answered to its end. */
export interface Found {
  entries: Entry[];
  /** True if the directory referred to other servers for further entries (RFC 4511 4.5.3). */
  hasReferences: boolean;
}

export interface Query {
  baseDN: string;
  filter: Filter;
  attributes: readonly string[];
  /** Attributes whose values are bytes. */
  asBytes?: readonly string[];
}

const pageSize = 500;
const timeLimitSeconds = 30;
/** Consecutive pages without a new entry. Empty pages are allowed (RFC 2696), and a repeated cookie must not search for ever. */
const maxIdlePages = 100;
/** Searches for the further values of one attribute. Active Directory answers 1,500 or 5,000 values at a time. */
const maxRanges = 10_000;

/** Members of the library's client that it does not publish. `searchPaginated` ends at an empty page, although more pages may follow. */
interface RequestSender {
  _ensureConnected(): Promise<void>;
  _nextMessageId(): number;
  _send(request: SearchRequest): Promise<SearchResponse>;
}

/** Searches a subtree to the end: all pages, and all values of attributes that come in ranges. @throws DirectoryError Incomplete */
export async function searchAll(client: Client, query: Query): Promise<Found> {
  try {
    const found = await allPages(client, query);
    for (const entry of found.entries) await completeRanges(client, entry, query.attributes);
    return found;
  } catch (error) {
    throw error instanceof DirectoryError ? error : incomplete(reasonOf(error), error);
  }
}

async function allPages(client: Client, { baseDN, filter, attributes, asBytes = [] }: Query): Promise<Found> {
  const entries = new Map<string, Entry>();
  let hasReferences = false;
  let cookie: Buffer | undefined;
  let idlePages = 0;
  do {
    const page = await send(client, { baseDN, filter, attributes, cookie });
    const known = entries.size;
    for (const entry of page.searchEntries) entries.set(entry.name, entry.toObject([...attributes], inBytes(entry, asBytes)));
    hasReferences ||= page.searchReferences.length > 0;
    idlePages = entries.size === known ? idlePages + 1 : 0;
    if (idlePages > maxIdlePages) throw incomplete('the pages repeat');
    const next = page.controls?.find((control) => control instanceof PagedResultsControl)?.value?.cookie;
    if (cookie !== undefined && next === undefined) throw incomplete('a page came without its cookie');
    cookie = next?.length ? next : undefined;
  } while (cookie !== undefined);
  return { entries: [...entries.values()], hasReferences };
}

/** Returns the attributes in the server's spelling, which the library compares with. */
const inBytes = ({ attributes }: SearchEntry, asBytes: readonly string[]): string[] =>
  attributes.map(({ type }) => type).filter((type) => asBytes.some((name) => name.toLowerCase() === type.toLowerCase()));

async function send(
  client: Client,
  { baseDN, filter, attributes, cookie }: Query & { cookie: Buffer | undefined },
): Promise<SearchResponse> {
  const sender = client as unknown as RequestSender;
  await sender._ensureConnected();
  const response = await sender._send(
    new SearchRequest({
      messageId: sender._nextMessageId(),
      baseDN,
      scope: 'sub',
      derefAliases: 'never',
      filter,
      attributes: [...attributes],
      timeLimit: timeLimitSeconds,
      controls: [new PagedResultsControl({ value: { size: pageSize, ...(cookie && { cookie }) } })],
    }),
  );
  if (response.status !== MessageResponseStatus.Success) throw StatusCodeParser.parse(response);
  return response;
}

/** Replaces `member;range=0-1499` of Active Directory by all values under the name that was asked for (MS-ADTS 3.1.1.3.1.3.3). */
async function completeRanges(client: Client, entry: Entry, attributes: readonly string[]): Promise<void> {
  for (const attribute of attributes) {
    let range = rangeOf(entry, attribute);
    if (range === undefined) continue;
    delete entry[range.key];
    const values: (string | Buffer)[] = [];
    for (let count = 0; ; count += 1) {
      const isNext = range !== undefined && range.first === values.length && range.values.length > 0;
      if (!isNext || range === undefined || count > maxRanges) throw incomplete('the values of an attribute broke off');
      values.push(...range.values);
      if (range.last === '*') break;
      if (Number(range.last) !== values.length - 1) throw incomplete('the values of an attribute broke off');
      const further = `${attribute};range=${values.length}-*`;
      const options = { scope: 'base', filter: new PresenceFilter({ attribute: 'objectClass' }), timeLimit: timeLimitSeconds } as const;
      const { searchEntries } = await client.search(entry.dn, { ...options, attributes: [further] });
      range = searchEntries[0] && rangeOf(searchEntries[0], attribute);
    }
    // Values are all text or all bytes, which the type of an entry does not express.
    entry[attribute] = values as string[];
  }
}

interface ValueRange {
  key: string;
  first: number;
  last: string;
  values: readonly (string | Buffer)[];
}

function rangeOf(entry: Entry, attribute: string): ValueRange | undefined {
  for (const [key, held] of Object.entries(entry)) {
    const [, name = '', first = '', last = ''] = /^(.+);range=(\d+)-(\d+|\*)$/i.exec(key) ?? [];
    if (name.toLowerCase() !== attribute.toLowerCase()) continue;
    return { key, first: Number(first), last, values: Array.isArray(held) ? held : [held] };
  }
  return undefined;
}

const incomplete = (why: string, cause?: unknown) =>
  new DirectoryError('Incomplete', `the directory did not answer a search to its end: ${why}`, { cause });

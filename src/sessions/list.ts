/** Sessions in lists, with their properties for search and sort (docs/contract/users.md and teams.md). Sealed data is left out. */
import { z } from 'zod';
import { objectMeta } from '../api/object-schemas.ts';
import type { Page } from '../collection/page.ts';
import type { ListProperties } from '../collection/properties.ts';
import { listSchema } from '../collection/schema.ts';
import { type SessionRow, sessionApiVersion } from './record.ts';

const shownSpec = z.object({
  user: z.string().describe('Name of the User record.'),
  subjectName: z.string().optional().describe('The user name that Kubernetes sees.'),
  createdAt: z.iso.datetime().describe('Time of the login.'),
  expiration: z.iso.datetime().describe('Absolute expiry.'),
  idleExpiration: z.iso.datetime().optional().describe('Expiry without use.'),
  source: z.string().optional().describe('Address of the browser.'),
  userAgent: z.string().optional().describe('Name of the browser.'),
});

const example = {
  apiVersion: sessionApiVersion,
  kind: 'Session',
  metadata: {
    name: `s-${'5c'.repeat(32)}`,
    uid: '0b0f0f6e-3f9c-4a53-8b1f-6a1d8f2f4a11',
    resourceVersion: '51702',
    creationTimestamp: '2026-03-01T11:00:00Z',
  },
  spec: {
    user: '8c87b489ce35cf2e2f39f80e282cb2e8',
    subjectName: 'jane@example.com',
    createdAt: '2026-03-01T11:00:00Z',
    expiration: '2026-03-08T11:00:00Z',
    idleExpiration: '2026-03-01T23:00:00Z',
    source: '198.51.100.7',
    userAgent: 'Mozilla/5.0',
  },
  current: true,
};

const sessionSchema = z
  .object({
    apiVersion: z.literal(sessionApiVersion),
    kind: z.literal('Session'),
    metadata: objectMeta,
    spec: shownSpec,
    current: z.literal(true).optional().describe('`true` for the session of this request.'),
  })
  .meta({ id: 'Session', examples: [example] });

export const sessionListSchema = listSchema(sessionSchema, { apiVersion: sessionApiVersion, kind: 'SessionList' });

export const sessionProperties: ListProperties<SessionRow> = {
  searched: new Map([
    ['name', ({ name }) => name],
    ['user', ({ user }) => user.toLowerCase()],
    ['subjectName', ({ subjectName }) => subjectName.toLowerCase()],
    ['source', ({ source }) => source.toLowerCase()],
    ['userAgent', ({ userAgent }) => userAgent.toLowerCase()],
  ]),
  search: ['user', 'subjectName', 'source', 'userAgent'],
  compared: new Map(),
  sorted: new Map<string, (row: SessionRow) => string | number>([
    ['name', ({ name }) => name],
    ['createdAt', ({ createdAt }) => createdAt],
    ['expiration', ({ expiresAt }) => expiresAt],
    ['idleExpiration', ({ idleExpiresAt }) => idleExpiresAt],
    ['source', ({ source }) => source],
    ['userAgent', ({ userAgent }) => userAgent],
  ]),
  selectable: new Map([
    ['metadata.name', ({ name }) => name],
    ['spec.user', ({ user }) => user],
  ]),
  defaultSort: 'd,createdAt',
};

/** Marks the session of the request in a list. */
export function withCurrent(list: Page, session: string | undefined): Page {
  if (session === undefined || !list.names.includes(session)) return list;
  return list.withTexts(({ name, text }) => (name === session ? `${text.slice(0, -1)},"current":true}` : text));
}

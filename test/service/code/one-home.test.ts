import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** Patterns that may occur in one module only, which all other modules use. Paths are those in `src` and `packages`. */
const homes: { what: string; pattern: RegExp; home: string[] }[] = [
  { what: 'whether a resource is installed: `WatchCache.state`', pattern: /startsWith\('404/, home: [] },
  {
    what: 'waits until a cache shows something: `WatchCache.until`',
    pattern: /onChange\([^\n]*\bresolve\(|\buntil\([^\n]*\.onChange\(/,
    home: [],
  },
  {
    what: 'the verbs of waiting: `whenSynced` (first list), `whenReady` (a request can be answered), `waitForWrite` (a write is visible)',
    pattern: /\b(?:when(?!Synced\b|Ready\b)|waitFor(?!Write\b)|waitUntil|until|await)[A-Z]\w*[(<]/,
    home: [],
  },
  {
    what: 'the time that such a wait takes',
    pattern: /\b(seenWithinMs|listedWithinMs|madeWithinMs|toldWithinMs|watchDelayMs) = /,
    home: ['kubernetes/deadline.ts'],
  },
  {
    what: 'S14 the clock of the machine: `Services.now` is that of the API server',
    pattern: /\bDate\.now\b|\bnew Date\(\)/,
    // The audit store runs beside the service, and knows no API server.
    home: ['audit-store/sql-store.ts', 'kubernetes/clock.ts', 'store-server/log-export.ts'],
  },
  {
    what: 'deletion of what has expired: `Sweeper`',
    pattern: /serverClock\.isTrusted/,
    home: ['kubernetes/controllers/sweeper.ts', 'audit-chain/retention.ts'],
  },
  {
    what: 'calls for each item, so many at a time: `mapLimit`',
    pattern: /Array\.from\(\{ length:[^\n]*worker/,
    home: ['http/limits/semaphore.ts', 'kubernetes/controllers/work-queue.ts'],
  },
  {
    what: 'the status of a User: `UserStatusWriter`',
    pattern: /ServiceResource\([^\n]*\b(userKind|userResource)\b[\s\S]*\b(patchStatus\(|subresource: 'status')|\bphaseStatus\(/,
    home: ['users/record/conditions.ts', 'users/status.ts'],
  },
  {
    what: 'the end of access: `endAccess`',
    pattern: /\b(sessionsNotBefore: timestamp|revokeSubject\(|\.add(Bearer|SessionBearers|Login|IssuerLogout)\()/,
    home: ['revocation/end-access.ts', 'users/passwords/change.ts'],
  },
  // The modules in the rest of these three lists are not converted to `ServiceResource` and `CallerResource` yet; the lists only get
  // shorter.
  {
    what: 'times in whole seconds: `timestamp`',
    pattern: /toISOString\(\)(\.slice|\.replace\((\/|'\.))/,
    home: ['kubernetes/clock.ts'],
  },
  {
    what: 'the path of a resource: kubernetes/resource-client.ts',
    pattern: /\bresourcePath\(/,
    home: [
      'identity/records.ts',
      'identity/sweep.ts',
      'kubernetes/events.ts',
      'keys/key-secret.ts',
      'kubernetes/controllers/lease-lock.ts',
      'kubernetes/list-watch.ts',
      'kubernetes/resource-client.ts',
      'kubernetes/resource.ts',
    ],
  },
  {
    what: 'deletions with preconditions: kubernetes/resource-client.ts',
    pattern: /'DeleteOptions'/,
    home: ['kubernetes/resource-client.ts'],
  },
  {
    what: 'merge patches: kubernetes/resource-client.ts',
    pattern: /application\/merge-patch/,
    home: ['objects/json-patch.ts', 'identity/records.ts', 'kubernetes/resource-client.ts', 'kubernetes/transport.ts'],
  },
];

const files = globSync('{src,packages/*/src}/**/*.ts')
  .filter((path) => !/^(?:src\/sandbox\.ts$|packages\/(?:demo|embedded-cluster|kubectl-atrium)\/)/.test(path))
  .map((path) => ({ file: path.replace(/^src\/|^packages\/|(?<=^packages\/[^/]+\/)src\//g, ''), text: readFileSync(path, 'utf8') }));

/** The embedded cluster replaces the API server, and shares no code with the service. */
describe('one home', () => {
  for (const { what, pattern, home } of homes)
    it(`has ${what}`, () => {
      const others = files.filter(({ file, text }) => pattern.test(text) && !home.includes(file)).map(({ file }) => file);

      expect(others).to.deep.equal([]);
    });

  it('names no home that has lost its calls', () => {
    const empty = homes.flatMap(({ pattern, home }) =>
      home.filter((allowed) => !files.some(({ file, text }) => file === allowed && pattern.test(text))),
    );

    expect(empty).to.deep.equal([]);
  });
});

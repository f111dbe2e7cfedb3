/** Images of the toy registry: how their containers run, and the lines that they log. */

/** The life of a container from its start on. */
export interface Run {
  /** Milliseconds until the process ends; unset: it runs until it is stopped. */
  endsAfterMs?: number;
  exitCode?: number;
  reason?: string;
  /** Milliseconds between two lines of its log. */
  lineEveryMs: number;
  line(index: number): string;
}

/** The duration of a pull. */
export const pullMs = 700;

const paths = ['/', '/products', '/products/42', '/cart', '/assets/app.css', '/search?q=lamp', '/checkout', '/healthz'];
const words = ['lamp', 'chair', 'kettle', 'rug', 'shelf'];
/** Returns a different member for each index, in no visible order. */
const pick = <T>(list: readonly T[], index: number): T => list[(index * 7 + ((index * index) % 11)) % list.length] as T;

const web: Run = {
  lineEveryMs: 1_500,
  line: (index) =>
    `10.244.${index % 3}.${20 + (index % 40)} "GET ${pick(paths, index)} HTTP/1.1" ${index % 17 === 0 ? 404 : 200} ${(index % 9) * 3 + 2}ms`,
};
const jsonLines: Run = {
  lineEveryMs: 2_000,
  line: (index) =>
    JSON.stringify({
      level: index % 9 === 0 ? 'warn' : 'info',
      msg: 'cart updated',
      cart: 1000 + (index % 50),
      item: pick(words, index),
      items: index % 5,
    }),
};
const database: Run = {
  lineEveryMs: 5_000,
  line: (index) =>
    `LOG:  checkpoint complete: wrote ${40 + (index % 60)} buffers (0.${index % 9}%); sync=0.00${index % 7} s, total=0.${10 + (index % 80)} s`,
};
const leaking: Run = {
  endsAfterMs: 4_000,
  exitCode: 137,
  reason: 'OOMKilled',
  lineEveryMs: 400,
  line: (index) => `recommendations: model loaded, ${64 + (index % 10) * 24} MiB in use`,
};
const crashing: Run = {
  endsAfterMs: 1_500,
  exitCode: 1,
  reason: 'Error',
  lineEveryMs: 500,
  line: (index) =>
    [
      'Starting',
      'Connecting to payments-db:5432',
      'Error: connect ECONNREFUSED 10.96.0.40:5432',
      '    at TCPConnectWrap.afterConnect (node:net:1637:16)',
    ][index % 4] as string,
};
const migrating: Run = {
  endsAfterMs: 1_000,
  exitCode: 2,
  reason: 'Error',
  lineEveryMs: 300,
  line: (index) =>
    ['Applying 0042_orders.sql', 'ERROR:  column "currency" of relation "orders" already exists', 'Migration failed'][index % 3] as string,
};
const fetching: Run = {
  endsAfterMs: 1_200,
  exitCode: 1,
  reason: 'Error',
  lineEveryMs: 500,
  line: (index) =>
    ['Fetching http://config.monitoring/rules', 'Retrying in 0.5s', 'Error: no such host: config.monitoring'][index % 3] as string,
};
const reporting: Run = { endsAfterMs: 3_000, lineEveryMs: 500, line: (index) => `report: ${(index + 1) * 1000} rows read` };
const plain: Run = { lineEveryMs: 3_000, line: (index) => `tick ${index + 1}` };

/** Repositories of the registry, by the last part of the name of an image. */
const repositories: Readonly<Record<string, Run>> = {
  ...{ storefront: web, nginx: web, api: web, checkout: web },
  ...{ migrations: migrating, report: reporting, rules: fetching },
  ...{ cart: jsonLines, postgres: database, recommendations: leaking, ledger: crashing },
};

/** Tags that the registry does not have, whatever the repository, by how they end. */
const missingTags = ['-typo', ':bad', ':missing'];

/** Returns how a container of an image runs; `undefined` for an image that cannot be pulled. */
export function runOf(image: string): Run | undefined {
  if (missingTags.some((end) => image.endsWith(end))) return undefined;
  const repository = image.split('@')[0]?.split('/').at(-1)?.split(':')[0] ?? '';
  return repositories[repository] ?? plain;
}

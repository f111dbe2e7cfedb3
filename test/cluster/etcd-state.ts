import { request } from 'undici';
import { z } from 'zod';

const keyValues = z.object({
  kvs: z.array(z.object({ key: z.string(), value: z.string().optional(), mod_revision: z.string() })).default([]),
});
const everything = { key: encode('/registry/'), range_end: encode('/registry0') };
/** Operations in one transaction. The limit of etcd is 128. */
const operationsAtOnce = 100;

/** Reports whether the programs themselves write a key every few seconds. */
const isTheirOwn = (key: string) => /^\/registry\/(leases\/kube-|masterleases\/|events\/)/.test(key);

/** Snapshot of all objects of an API server, read from its etcd. */
export class EtcdState {
  readonly #url: string;
  readonly #values: ReadonlyMap<string, string>;
  #revisions: ReadonlyMap<string, string>;

  private constructor(url: string, values: ReadonlyMap<string, string>, revisions: ReadonlyMap<string, string>) {
    this.#url = url;
    this.#values = values;
    this.#revisions = revisions;
  }

  static async read(url: string): Promise<EtcdState> {
    const kvs = await readAll(url);
    return new EtcdState(
      url,
      new Map(kvs.map(({ key, value = '' }) => [key, value])),
      new Map(kvs.map(({ key, mod_revision }) => [key, mod_revision])),
    );
  }

  /** Returns the keys that were added, changed or deleted since the snapshot. */
  async changes(): Promise<{ added: string[]; changed: string[] }> {
    const now = new Map((await readAll(this.#url, true)).map(({ key, mod_revision }) => [key, mod_revision]));
    const keys = (from: ReadonlyMap<string, string>) => [...from.keys()].filter((key) => !isTheirOwn(key));
    return {
      added: keys(now).filter((key) => !this.#revisions.has(key)),
      changed: keys(this.#revisions).filter((key) => now.get(key) !== this.#revisions.get(key)),
    };
  }

  /** Deletes added keys and restores changed ones. The API server learns of both by its watches. */
  async restore({ added, changed }: { added: readonly string[]; changed: readonly string[] }): Promise<void> {
    const operations = [
      ...added.map((key) => ({ requestDeleteRange: { key: encode(key) } })),
      ...changed.map((key) => ({ requestPut: { key: encode(key), value: this.#values.get(key) } })),
    ];
    for (let from = 0; from < operations.length; from += operationsAtOnce)
      await call(this.#url, 'txn', { success: operations.slice(from, from + operationsAtOnce) });
    const now = await readAll(this.#url, true);
    this.#revisions = new Map(now.filter(({ key }) => this.#values.has(key)).map(({ key, mod_revision }) => [key, mod_revision]));
  }
}

async function readAll(url: string, keysOnly = false) {
  const { kvs } = keyValues.parse(await call(url, 'range', { ...everything, keys_only: keysOnly }));
  return kvs.map((kv) => ({ ...kv, key: Buffer.from(kv.key, 'base64').toString() }));
}

/** Calls the JSON gateway of etcd. */
async function call(url: string, method: 'range' | 'txn', body: unknown): Promise<unknown> {
  const answer = await request(`${url}/v3/kv/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`etcd ${method}: ${answer.statusCode} ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

function encode(key: string): string {
  return Buffer.from(key).toString('base64');
}

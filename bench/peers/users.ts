import { request } from 'undici';
import { z } from 'zod';
import { aUser, nameOf } from '../../test/service/users/a-user.ts';
import type { ClusterAdmin } from '../../test/support/cluster-admin.ts';

const path = '/registry/auth.platform.io/users/';
export const base64 = (text: string) => Buffer.from(text).toString('base64');
/** Number of puts in a transaction; etcd accepts no more than 128 operations. */
const atOnce = 100;

/** Puts a range of users in one transaction, with a suffix of their names. */
type PutUsers = (from: number, to: number, suffix?: string) => Promise<void>;

/**
 * Fills the cluster with users, including all fields that the service writes: otherwise its controller would run during the measurement.
 * The API server creates one user; the others are copies of its value in etcd, with managed fields. Creating 100,000 through the API server
 * would take a quarter of an hour.
 */
export async function fillUsers(admin: ClusterAdmin, etcdURL: string, from: number, to: number): Promise<PutUsers> {
  const email = 'pattern@example.com';
  const since = new Date().toISOString().replace(/\.\d+/, '');
  const conditions = ['Ready', 'Enabled', 'Unlocked', 'SourceFound', 'PasswordSet', 'Canonical'].map((type) => ({
    type,
    status: 'True',
    reason: 'AsExpected',
    message: '',
    lastTransitionTime: since,
  }));
  const labels = {
    email: nameOf(email),
    username: 'Pattern',
    connector_id: 'local',
    connector_type: 'local',
    state: 'active',
    valid: 'true',
  };
  const pattern = aUser(email, {
    username: 'Pattern',
    groups: ['team', 'team-1'],
    lastLoginTime: since,
    is_disabled: false,
    labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [`auth.platform.io/user.${name}`, value])),
  });
  pattern.spec = { ...(pattern.spec as object), state: 'active', valid: true };
  pattern.status = { ...(pattern.status as object), observedGeneration: 1, activatedTime: since, passwordChangedTime: since, conditions };
  await admin.apply(pattern);
  const { kvs } = z
    .object({ kvs: z.array(z.object({ value: z.string() })) })
    .parse(await etcd(etcdURL, 'range', { key: base64(`${path}${nameOf(email)}`) }));
  const kept = Buffer.from(kvs[0]?.value ?? '', 'base64').toString();
  const uid = z.object({ metadata: z.object({ uid: z.string() }) }).parse(JSON.parse(kept)).metadata.uid;
  const copy = (index: number, suffix: string) => {
    const theirs = `person-${index}@example.com`;
    const value = kept
      .replaceAll(nameOf(email), nameOf(theirs))
      .replaceAll(email, theirs)
      .replaceAll('"Pattern"', `"Person-${index}${suffix}"`)
      .replaceAll('"team-1"', `"team-${index % 100}"`)
      .replaceAll(uid, uid.slice(0, -12) + String(index).padStart(12, '0'));
    return { requestPut: { key: base64(`${path}${nameOf(theirs)}`), value: base64(value) } };
  };
  const put: PutUsers = async (first, end, suffix = '') => {
    await etcd(etcdURL, 'txn', { success: Array.from({ length: end - first }, (_, step) => copy(first + step, suffix)) });
  };
  const last = to - 1;
  for (let index = from; index < last; index += atOnce) await put(index, Math.min(index + atOnce, last));
  // All puts of a transaction share one revision, and the API server answers a list as soon as its cache has the first of them. The last
  // put is alone, so that no object is missing at its revision.
  await put(last, to);
  return put;
}

export async function etcd(url: string, method: 'range' | 'txn', body: unknown): Promise<unknown> {
  const answer = await request(`${url}/v3/kv/${method}`, { method: 'POST', body: JSON.stringify(body) });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`etcd ${method}: ${answer.statusCode} ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

/**
 * Compares the times of answers for known and unknown addresses: medians of alternating requests to the page for a forgotten password, and
 * of logins with a wrong password at the embedded issuer. A ratio far from 1 would disclose which addresses have an account.
 * Run: node bench/known-addresses.ts
 */

import { Browser } from '../test/service/identity/browser.ts';
import { startEmbeddedLogin } from '../test/support/embedded-login.ts';
import { freePort } from '../test/support/free-port.ts';
import { median } from './peers/rows.ts';

const rounds = 4;
const people = 125;
const password = 'correct horse battery staple';
const emails = Array.from({ length: people }, (_, index) => `person${index}@example.com`);

// The mail server does not exist: mails are sent after the answer.
const service = await startEmbeddedLogin({
  emails,
  password,
  smtp: { host: '127.0.0.1', port: await freePort(), from: 'a@example.com' },
  trustedProxies: ['127.0.0.1/32'],
});
const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', accept: 'text/html' };

async function timed(work: () => Promise<number>, expected: number): Promise<number> {
  const begun = performance.now();
  const status = await work();
  if (status !== expected) throw new Error(`${status} and not ${expected}`);
  return performance.now() - begun;
}

const forgotten = (email: string) =>
  timed(async () => {
    const response = await service.request('/identity/forgotten', { method: 'POST', headers, body: `${new URLSearchParams({ email })}` });
    await response.text();
    return response.status;
  }, 200);

/** Number of the network of a request: each has its own, because limits are not measured. */
let networks = 0;

async function refused(email: string): Promise<number> {
  networks += 1;
  const from = { 'x-forwarded-for': `10.${networks >> 16}.${(networks >> 8) & 255}.${networks & 255}` };
  const browser = new Browser(service.url, [service.url], { dispatcher: service.dispatcher, headers: from });
  const { auth_url } = JSON.parse((await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie`)).body);
  const page = await browser.get(auth_url);
  return timed(async () => (await browser.submit(page, { email, password: 'a wrong and long password' })).response.status, 403);
}

async function compare(what: string, ask: (email: string) => Promise<number>): Promise<void> {
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let round = 0; round < rounds; round += 1)
    for (const [index, email] of emails.entries()) {
      const both = [
        ['known', email],
        ['unknown', email.replace('person', 'absent')],
      ] as const;
      for (const [kind, address] of (index + round) % 2 === 0 ? both : both.toReversed()) times[kind].push(await ask(address));
    }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  console.log(
    `${what.padEnd(20)} known ${known.toFixed(2)} ms, unknown ${unknown.toFixed(2)} ms, ratio ${(known / unknown).toFixed(3)}, ${times.known.length} each`,
  );
}

await compare('forgotten password', forgotten);
await compare('wrong password', refused);
await service.stop();

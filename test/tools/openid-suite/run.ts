/**
 * Runs plans of the official OpenID conformance suite against the service as a relying party, and prints the result of each module.
 *
 * `OPENID_SUITE` is the address of a suite that runs in developer mode, `OPENID_SUITE_CA` the file with its certificate authority.
 */
import { readFile } from 'node:fs/promises';
import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { Browser, loginInfoOf, userInfoOf } from '../../service/login/provider/browser.ts';
import type { TestProvider } from '../../service/login/provider/provider.ts';
import { LoginCluster, type Service } from '../../service/login/support.ts';
import { logout, refresh } from '../../service/sessions/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { Trusting } from '../../support/trusting.ts';

const { OPENID_SUITE: suite = 'https://localhost:8443', OPENID_SUITE_CA: caFile = '' } = process.env;
const certificateAuthority = await readFile(caFile, 'utf8');
const dispatcher = new Trusting(certificateAuthority);

const publicURL = 'https://console.test';
const alias = 'atrium';
const client = { clientID: 'atrium', clientSecret: 'a-client-secret-of-32-characters' };
/** The suite stands in for the scriptable provider, which has more members than the service reads. */
const provider = { issuer: `${suite}/test/a/${alias}/`, ...client, certificateAuthority } as TestProvider;
// The email of the suite's user is not verified, which the default claim `email` refuses.
const login = { claims: { username: 'sub' } };

const registered = { client_registration: 'static_client', request_type: 'plain_http_request' };
const confidential = { ...registered, client_auth_type: 'client_secret_basic', response_mode: 'default' };
const plans = {
  'oidcc-client-basic-certification-test-plan': registered,
  'oidcc-client-implicit-certification-test-plan': registered,
  'oidcc-client-hybrid-certification-test-plan': registered,
  'oidcc-client-config-certification-test-plan': confidential,
  'oidcc-client-refreshtoken-test-plan': { ...confidential, response_type: 'code' },
  'oidcc-client-back-channel-logout-rp-basic': confidential,
  'oidcc-client-back-channel-logout-rp-implicit': confidential,
  'oidcc-client-back-channel-logout-rp-hybrid': confidential,
  'oidcc-client-rp-initiated-logout-rp-basic': confidential,
  'oidcc-client-rp-initiated-logout-rp-implicit': confidential,
  'oidcc-client-rp-initiated-logout-rp-hybrid': confidential,
};

const planAnswer = z.object({
  id: z.string(),
  modules: z.array(z.object({ testModule: z.string(), variant: z.record(z.string(), z.string()).nullish() })),
});
const started = z.object({ id: z.string() });
const infoAnswer = z.object({ status: z.string(), result: z.string().nullish() });
const logAnswer = z.array(z.looseObject({ src: z.string(), result: z.string().optional(), msg: z.string().optional() }));

/** Calls the suite's own API. */
async function ask<T>(
  schema: z.ZodType<T>,
  path: string,
  { method = 'GET', body = null }: { method?: Dispatcher.HttpMethod; body?: string | null },
) {
  const answer = await request(`${suite}/api/${path}`, { method, headers: { 'content-type': 'application/json' }, dispatcher, body });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 400)}`);
  return schema.parse(JSON.parse(text));
}

/** Opens an address of the suite. @returns the target of its redirect */
async function follow(url: string | URL): Promise<URL> {
  const { headers, body } = await request(url, { dispatcher });
  await body.dump();
  return new URL(String(headers.location));
}

/** Logs in like the page of the console. @returns the callback's answer, or undefined after a refusal */
async function logIn(browser: Browser, responseType: string, statuses: number[]) {
  const begun = await browser.login('v2', { token_storage: 'cookie' });
  statuses.push(begun.status);
  if (begun.status !== 200) return undefined;
  const url = new URL(loginInfoOf(begun).auth_url);
  url.searchParams.set('response_type', responseType);
  const page = await follow(url);
  const answer = page.hash ? new URLSearchParams(page.hash.slice(1)) : page.searchParams;
  if (!answer.has('code')) answer.set('code', '');
  const callback = await browser.callback('v2', answer);
  statuses.push(callback.status);
  return callback.status === 200 ? callback : undefined;
}

/** Does what a module asks its user to do. @returns statuses of the service's answers */
async function play(module: string, responseType: string, { url }: Service): Promise<number[]> {
  const statuses: number[] = [];
  const browser = new Browser(url);
  // These modules end with the first request for the metadata and the keys, and fail at any further one.
  if (module.endsWith('discovery-openid-config')) return statuses;
  if (module.endsWith('discovery-jwks-uri-keys')) {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const bearer = [part({ alg: 'RS256', kid: 'unknown' }), part({ iss: provider.issuer, aud: client.clientID, exp: 4e9 }), part({})].join(
      '.',
    );
    return [(await browser.info('v2', bearer)).status];
  }
  const callback = await logIn(browser, responseType, statuses);
  if (callback === undefined) return statuses;
  const handle = userInfoOf(callback).ext.token?.refresh_token ?? '';
  if (module.endsWith('signing-key-rotation')) await logIn(new Browser(url), responseType, statuses);
  if (module.includes('refresh-token')) statuses.push((await refresh(browser, handle)).status);
  if (module.includes('logout')) {
    const ended = await logout(browser, handle);
    const [, link = ''] = /^<([^>]*)>; rel="logout"$/.exec(ended.headers.get('link') ?? '') ?? [];
    const { pathname, search } = await follow(link);
    statuses.push(ended.status, (await browser.request(`${pathname}${search}`, { headers: { accept: 'text/html' } })).status);
  }
  return statuses;
}

const cluster = await LoginCluster.start();
const port = await freePort();
const configuration = JSON.stringify({
  alias,
  client: {
    client_id: client.clientID,
    client_secret: client.clientSecret,
    redirect_uri: `${publicURL}/`,
    post_logout_redirect_uri: `${publicURL}/`,
    backchannel_logout_uri: `http://127.0.0.1:${port}/api/v2/token/backchannel-logout`,
  },
});
const counts: Record<string, number> = {};
try {
  for (const [planName, variant] of Object.entries(plans)) {
    console.log(planName);
    const created = `plan?${new URLSearchParams({ planName, variant: JSON.stringify(variant) })}`;
    const plan = await ask(planAnswer, created, { method: 'POST', body: configuration });
    for (const { testModule: test, variant: own } of plan.modules) {
      const responseType = own?.response_type ?? 'code';
      // The service asks for no access token at the authorization endpoint.
      if (responseType.endsWith(' token')) continue;
      const run = `runner?${new URLSearchParams({ test, plan: plan.id, ...(own && { variant: JSON.stringify(own) }) })}`;
      const { id } = await ask(started, run, { method: 'POST' });
      const info = () => ask(infoAnswer, `info/${id}`, {});
      await eventually(info, ({ status }) => status === 'WAITING');
      const service = await cluster.service({ provider, config: { server: { publicURL, port }, login } });
      const statuses = await play(test, responseType, service);
      const { result } = await eventually(info, ({ status }) => status === 'FINISHED' || status === 'INTERRUPTED');
      await service.stop();
      const log = await ask(logAnswer, `log/${id}`, {});
      const notes = log
        .filter((entry) => entry.result === 'FAILURE' || entry.result === 'WARNING')
        .map(({ src, msg }) => `\n    ${src}: ${msg}`);
      console.log(`  ${test} (${responseType}): ${result}, ${statuses.join(' ')}${notes.join('')}`);
      counts[String(result)] = (counts[String(result)] ?? 0) + 1;
    }
  }
} finally {
  await cluster.stop();
  await dispatcher.close();
}
console.log(counts);

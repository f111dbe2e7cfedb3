import { expect } from 'chai';
import { z } from 'zod';
import { Browser } from '../../service/identity/browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { password } from './installation.ts';

const loginInfo = z.object({ auth_url: z.url() });
const payload = z.object({ refresh_token: z.string() });
const userInfo = z.object({ name: z.string(), ext: z.object({ token: payload }) });

/**
 * Logs in, renews and logs out, with the next request at the other replica at each step. Requires the end of the session on both.
 *
 * @param replicas URLs of the replica that gets the first request, and of the other one
 */
export async function logInByTurns(publicURL: string, [one, other]: readonly [string, string], email: string): Promise<void> {
  /** Addresses for the next requests, in turn. */
  const route = [one];
  const browser = new Browser(publicURL, route);
  const at = async (replica: string, path: string) => {
    route.splice(0, route.length, replica);
    const { response, body } = await browser.get(`${publicURL}${path}`);
    return { status: response.status, body, json: () => JSON.parse(body) as unknown };
  };

  const login = await at(one, '/api/v2/token/login?token_storage=cookie');
  route.push(other);
  const { auth_url: authURL } = loginInfo.parse(login.json());
  const { url: back } = await browser.submit(await browser.get(authURL), { email, password });
  const cookiesOfFlow = browser.cookies;
  const callback = await at(other, `/api/v2/token/callback${back.search}`);
  expect(callback.status, callback.body).to.equal(200);
  const { name, ext } = userInfo.parse(callback.json());
  expect(name).to.equal(email);
  const renewed = await at(one, `/api/v2/token/refresh?refresh_token=${ext.token.refresh_token}`);
  expect(renewed.status, renewed.body).to.equal(200);
  const { refresh_token: handle } = payload.parse(renewed.json());
  expect((await at(one, '/api/v2/token/info')).status).to.equal(200);
  const cookies = [...cookiesOfFlow, ...browser.cookies].map((cookie) => `${cookie.name}=${cookie.value}`).join('; ');
  const left = await at(other, `/api/v2/token/logout?refresh_token=${handle}`);
  expect(left.status, left.body).to.equal(200);

  const again = async (replica: string, path: string) =>
    (await fetch(`${replica}/api/v2/token/${path}`, { headers: { cookie: cookies } })).status;
  for (const replica of [one, other]) {
    await eventually(
      () => again(replica, 'info'),
      (status) => status === 401,
    );
    for (const old of [handle, ext.token.refresh_token]) expect(await again(replica, `refresh?refresh_token=${old}`)).to.equal(401);
    expect(await again(replica, `callback${back.search}`)).to.equal(400);
  }
}

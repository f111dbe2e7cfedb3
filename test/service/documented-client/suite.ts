import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { type Answer, DocumentedClient, type Version } from './client.ts';
import {
  consoleSchema,
  envVarsSchema,
  langsInfoSchema,
  listSchema,
  loginInfoSchema,
  objectSchema,
  type RenewPayload,
  renewPayloadIn,
  renewPayloadSchema,
  rolesSchema,
  statusSchema,
  userInfoSchema,
} from './shapes.ts';

/** A way to run the service, with an administrator of users who can log in. */
export interface SetUp {
  /** `{base_url}`, without a slash at its end. */
  base: string;
  dispatcher?: Dispatcher;
  /** Logs the administrator in at the issuer. @returns the parameters that the issuer adds to the redirect URL */
  authenticate(authURL: string): Promise<URLSearchParams>;
  /** True if the flow gives the service a refresh token. */
  canRenew: boolean;
  /** A ConfigMap and its key that hold an image for every caller. */
  image: { name: string; key: string };
  /** Path of a static file. */
  file: string;
  stop(): Promise<void>;
}

const versions: readonly Version[] = ['v1', 'v2'];

const read = <T>(schema: z.ZodType<T>, { status, body }: Answer, wanted = 200): T => {
  expect(status, JSON.stringify(body)).to.equal(wanted);
  return schema.parse(body);
};

const readStatus = (answer: Answer, code: number) => {
  const status = read(statusSchema, answer, code);
  expect(status).to.include({ kind: 'Status', status: 'Failure', code });
  expect(status.message).not.to.equal('');
  expect(status.reason).not.to.equal('');
};

/** Declares tests of the whole documented interface for one set-up. */
export function documentedInterface(title: string, start: () => Promise<SetUp>): void {
  describe(`the documented interface, ${title}`, () => {
    let setUp: SetUp;
    before(async () => {
      setUp = await start();
    });
    after(() => setUp?.stop());

    const newClient = () => new DocumentedClient(setUp.base, setUp.dispatcher);

    /** Logs in from the login operation to UserInfo, and returns its tokens. */
    const logIn = async (version: Version) => {
      const client = newClient();
      const { auth_url: authURL, state } = read(loginInfoSchema, await client.login(version));
      const sent = await setUp.authenticate(authURL);
      expect(sent.get('state'), sent.toString()).to.equal(state);
      const idToken = sent.get('id_token');
      const callback = await client.callback(version, {
        code: sent.get('code') ?? '',
        state,
        ...(idToken !== null && { id_token: idToken }),
      });
      const user = read(userInfoSchema, callback);
      const tokens = renewPayloadIn(user.ext);
      if (tokens === undefined) throw new Error('UserInfo came without a token to send');
      return { client, user, tokens };
    };

    /** Renews the tokens. The ID token flow has no refresh token: then the answer is the documented 401. */
    const renew = async (client: DocumentedClient, version: Version, tokens: RenewPayload): Promise<RenewPayload> => {
      const answer = await client.refresh(version, refreshTokenOf(tokens));
      if (!setUp.canRenew) readStatus(answer, 401);
      return setUp.canRenew ? read(renewPayloadSchema, answer) : tokens;
    };

    const tokenOf = ({ access_token: token }: RenewPayload): string => token ?? '';
    const refreshTokenOf = ({ refresh_token: token }: RenewPayload): string => token ?? '';

    describe('console and static operations', () => {
      it('answer without a credential, in the documented form', async () => {
        const client = newClient();
        read(consoleSchema, await client.request('/api/v1/modules'));
        read(envVarsSchema, await client.request('/api/v1/envs'));
        expect(read(langsInfoSchema, await client.request('/api/v1/i18n/languages')).availableLanguages).not.to.have.length(0);
        expect(await client.request('/api/v1/console-plugins')).to.include({ status: 200 });
        const image = await client.request(`/api/v1/cm/${setUp.image.name}/${setUp.image.key}`);
        expect([image.status, image.contentType.split('/')[0], image.bytes.length > 0]).to.deep.equal([200, 'image', true]);
        const file = await client.request(setUp.file);
        expect([file.status, file.bytes.length > 0]).to.deep.equal([200, true]);
      });

      it('answer beside a bearer token too, and refuse one that is not accepted', async () => {
        const { client, tokens } = await logIn('v2');
        for (const path of ['modules', 'envs', 'console-plugins', `cm/${setUp.image.name}/${setUp.image.key}`]) {
          expect(await client.request(`/api/v1/${path}`, { bearer: tokenOf(tokens) }), path).to.include({ status: 200 });
          expect(await client.request(`/api/v1/${path}`, { bearer: 'garbage' }), path).to.include({ status: 401 });
        }
      });
    });

    describe('login and token operations', () => {
      for (const version of versions) {
        it(`log in, tell the caller and renew, until logout ends the login: ${version}`, async () => {
          const { client, user, tokens } = await logIn(version);
          expect(user.email).to.be.a('string');

          const { name } = read(userInfoSchema, await client.info(version, tokenOf(tokens)));
          expect(name).to.equal(user.name);
          expect(tokens.token_type).to.equal('Bearer');
          expect(Date.parse(tokens.expire_at ?? '')).to.be.greaterThan(Date.parse(tokens.issued_at ?? ''));

          const last = await renew(client, version, tokens);
          expect(read(userInfoSchema, await client.info(version, tokenOf(last))).name).to.equal(user.name);

          read(renewPayloadSchema, await client.logout(refreshTokenOf(last)));
          for (const token of new Set([tokenOf(tokens), tokenOf(last)])) readStatus(await client.info(version, token), 401);
          for (const token of new Set([refreshTokenOf(tokens), refreshTokenOf(last)]))
            readStatus(await client.refresh(version, token), 401);
        });

        it(`refuse a missing field with 400 and a refused credential with 401: ${version}`, async () => {
          const client = newClient();
          const { state } = read(loginInfoSchema, await client.login(version));
          readStatus(await client.callback(version, {}), 400);
          readStatus(await client.callback(version, { state }), 400);
          readStatus(await client.callback(version, { code: 'x' }), 400);
          readStatus(await client.callback(version, { code: 'x', state: 'never-given' }), 400);
          readStatus(await client.request(`/api/${version}/token/refresh`), 400);
          readStatus(await client.refresh(version, 'garbage'), 401);
          readStatus(await client.info(version), 401);
          readStatus(await client.info(version, 'garbage'), 401);
        });

        it(`refuse a code that the issuer does not know with 401: ${version}`, async () => {
          const client = newClient();
          const { state } = read(loginInfoSchema, await client.login(version));
          readStatus(await client.callback(version, { code: 'made-up', state }), 401);
        });
      }

      it('answer a redirect as a login, and refuse a logout that ends nothing: v2', async () => {
        const client = newClient();
        read(loginInfoSchema, await client.redirect());
        readStatus(await client.request('/api/v2/token/logout'), 400);
        readStatus(await client.logout('garbage'), 401);
      });

      it('end on the other version a login begun on one', async () => {
        const client = newClient();
        const { auth_url: authURL, state } = read(loginInfoSchema, await client.login('v1'));
        const sent = await setUp.authenticate(authURL);
        const idToken = sent.get('id_token');
        const query = { code: sent.get('code') ?? '', state, ...(idToken !== null && { id_token: idToken }) };
        read(userInfoSchema, await client.callback('v2', query));
      });
    });

    describe('user management and resource authentication operations', () => {
      it('need a credential', async () => {
        const client = newClient();
        const paths = ['/apis/auth.platform.io/v1/users', '/auth/v1/users', '/auth/v2/users', '/auth/v1/usersroles', '/auth/v1/users/x'];
        for (const path of paths) readStatus(await client.request(path), 401);
        for (const path of ['/auth/v1/users', '/auth/v1/authorize', '/auth/v1/selfsubjectaccessreviews'])
          readStatus(await client.request(path, { method: 'POST', body: {} }), 401);
        readStatus(await client.request('/auth/v1/users/sync', { method: 'PUT' }), 401);
      });

      it('list, create, show, change and delete users with the bearer token of a login', async () => {
        const { client, tokens } = await logIn('v2');
        const bearer = tokenOf(tokens);
        const call = (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
          client.request(path, { method, bearer, body });
        const create = async (email: string) =>
          read(objectSchema, await call('POST', '/auth/v1/users', { spec: { email, password: 'correct horse battery' } }), 201).metadata
            .name;

        const one = await create('documented@example.com');
        const two = await create('documented-too@example.com');
        for (const path of ['/auth/v2/users', '/auth/v1/users', '/apis/auth.platform.io/v1/users']) {
          const names = read(listSchema, await call('GET', path)).items.map(({ metadata }) => metadata.name);
          expect(names, path).to.include.members([one, two]);
        }
        for (const path of [`/auth/v1/users/${one}`, `/apis/auth.platform.io/v1/users/${one}`])
          expect(read(objectSchema, await call('GET', path)).metadata.name).to.equal(one);
        const changed = await call('PATCH', `/auth/v1/users/${one}`, {
          spec: { username: 'Documented', password: 'another horse battery' },
        });
        expect(read(objectSchema, changed)).to.have.nested.property('spec.username', 'Documented');
        const { items } = read(rolesSchema, await call('GET', '/auth/v1/usersroles'));
        expect(items.map(({ role }) => role)).to.include('cluster-admin');
        expect(await call('PUT', '/auth/v1/users/sync')).to.include({ status: 200 });
        expect(await call('DELETE', `/auth/v1/users/${one}`)).to.include({ status: 204 });
        readStatus(await call('GET', `/auth/v1/users/${one}`), 404);
        expect((await call('DELETE', '/auth/v1/users', { names: [two] })).body).to.include({ succeeded: 1, failed: 0 });
      });

      it('give a certificate of authorization', async () => {
        const { client, tokens } = await logIn('v1');
        const answer = await client.request('/auth/v1/authorize', { method: 'POST', bearer: tokenOf(tokens), body: {} });
        expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
      });

      it('answer on both paths whether the caller may do something', async () => {
        const { client, tokens } = await logIn('v2');
        const body = { spec: { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } } };
        for (const path of ['/auth/v1', '/apis/authorization.orchestrator.io/v1']) {
          const review = await client.request(`${path}/selfsubjectaccessreviews`, { method: 'POST', bearer: tokenOf(tokens), body });
          expect(review.status, JSON.stringify(review.body)).to.equal(201);
          expect(review.body).to.have.nested.property('status.allowed', true);
        }
      });
    });
  });
}

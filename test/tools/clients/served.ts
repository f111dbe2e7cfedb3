/** A service with a user who may list users, for clients that get its document, its address and a token. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { recordName } from '../../../src/users/record/account.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { clusterRoleBinding } from '../../support/grants.ts';

const email = 'jane@example.com';
const other = 'bob@example.com';
const password = 'Zuihitsu-84-bloom';

const logIn = z.looseObject({ ext: z.looseObject({ token: z.looseObject({ access_token: z.string() }) }) });

export interface Served {
  /** Directory for generated files, deleted at the end. */
  directory: string;
  /** File of the OpenAPI document. */
  document: string;
  /** Variables for clients: address of the service, token, and user to query. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

export async function serveClients(): Promise<Served> {
  const service = await startEmbeddedLogin({ emails: [email, other], password });
  await service.admin.apply(clusterRoleBinding('jane-views-users', 'atrium-users-view', { kind: 'User', name: email }));
  const directory = await mkdtemp(join(tmpdir(), 'atrium-clients-'));
  const document = join(directory, 'openapi.json');
  await writeFile(document, await (await service.request('/openapi/v3')).text());
  const { body } = await service.logIn(email, password, '?token_storage=local');
  return {
    directory,
    document,
    env: {
      ATRIUM_URL: service.url,
      ATRIUM_TOKEN: logIn.parse(JSON.parse(body)).ext.token.access_token,
      ATRIUM_USER: recordName(email) ?? '',
      NODE_EXTRA_CA_CERTS: service.caFile,
      SSL_CERT_FILE: service.caFile,
    },
    async stop() {
      await service.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** Requires the output that all clients print of their five calls. */
export function expectFiveAnswers(printed: string): void {
  const { revision, created, ...rest } = z.looseObject({ revision: z.string(), created: z.string() }).parse(JSON.parse(printed));
  expect(revision).to.match(/^[0-9a-f]{16}$/);
  expect(Date.parse(created)).to.be.within(0, Date.now());
  expect(rest).to.deep.equal({
    authURL: '/identity/auth',
    emails: [other, email],
    administrators: [false, false],
    total: 2,
    phase: 'Normal',
    allowed: true,
  });
}

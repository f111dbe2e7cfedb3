import { expect } from 'chai';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';
import { runCreateAdmin } from '../../../src/create-admin.ts';
import { recordName } from '../../../src/users/record/account.ts';
import { forSuite } from '../../support/for-suite.ts';
import { namespace, render } from './chart.ts';
import { RecordedAccount } from './recorded-account.ts';
import { itIsGrantedJust } from './rights.ts';

const server = { publicURL: 'http://console.test' };
const email = 'ada@example.com';
const user = recordName(email);

const needed = {
  'create users.auth.platform.io': 'to make the user',
  [`get users.auth.platform.io ${user}`]: 'to see whether the user is there',
  [`patch users.auth.platform.io/status ${user}`]: 'to have the password changed at the first login',
  'create secrets in atrium-system': 'to keep the password, and to tell it',
  'get secrets atrium-first-admin in atrium-system': 'to see whether it was told',
  [`get secrets user-password-${user} in atrium-system`]: 'to see whether there is a password',
};

describe('the rights of the Job that creates the first administrator', () => {
  const account = forSuite(async () =>
    RecordedAccount.start('atrium-first-admin', await render({ 'config.server': server, 'admin.email': email })),
  );
  const said: string[] = [];
  before(async () => {
    const { connection } = account;
    const config = parseConfig({ yaml: JSON.stringify({ server }) });
    const options = { config, connection, email, name: 'Administrator', password: undefined, secret: 'atrium-first-admin' };
    said.push(await runCreateAdmin(options), await runCreateAdmin(options));
  });

  itIsGrantedJust(needed, () => account);

  it('suffice to create it once, with the password in the Secret of the notes', async () => {
    const { body } = await account.admin.call('GET', `/api/v1/namespaces/${namespace}/secrets/atrium-first-admin`);
    const { data } = z.object({ data: z.object({ email: z.base64(), password: z.base64() }) }).parse(body);

    expect(said[0]).to.include('was made').and.to.include('atrium-system/atrium-first-admin');
    expect(said[1]).to.include('exists already');
    expect(Buffer.from(data.email, 'base64').toString()).to.equal(email);
    expect(Buffer.from(data.password, 'base64')).to.have.length.greaterThan(20);
  });
});

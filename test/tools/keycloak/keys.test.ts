import { expect } from 'chai';
import { decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import { Browser } from '../../service/login/provider/browser.ts';
import { refresh } from '../../service/sessions/support.ts';
import { listUsers, logIn } from './console.ts';
import { atKeycloak, bothCredentials } from './suite.ts';

for (const credentials of bothCredentials) {
  describe(`keys of Keycloak that change, ${credentials}`, () => {
    const { all, service, realm } = atKeycloak(credentials);

    it('verify logins with new keys, and tokens of the old ones as long as Keycloak publishes them', async () => {
      const { keycloak } = all;
      const person = await realm.person('kim', { groups: ['dev'] });
      const before = await logIn(service, { keycloak, person, storage: 'local' });
      const session = await logIn(service, { keycloak, person });
      const old = await signingKey();

      await realm.create('components', {
        ...{ name: 'the next key', providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider' },
        config: { priority: ['1000'], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] },
      });
      const after = await logIn(service, { keycloak, person, storage: 'local' });

      expect(kid(after.bearer)).not.to.equal(kid(before.bearer));
      expect((await listUsers(after.browser, after.bearer)).status).to.equal(200);
      expect((await refresh(session.browser, session.refreshToken)).status).to.equal(200);

      await realm.changeComponent(old, { active: ['false'] });
      expect((await listUsers(before.browser, before.bearer)).status).to.equal(200);
      const another = await all.service({ credentials });
      expect((await listUsers(new Browser(another.url), before.bearer)).status).to.equal(200);

      await realm.changeComponent(old, { active: ['false'], enabled: ['false'] });
      const newest = new Browser((await all.service({ credentials })).url);
      expect((await newest.info('v2', before.bearer)).status).to.equal(401);
      expect((await newest.info('v2', after.bearer)).status).to.equal(200);
      expect((await refresh(session.browser, session.refreshToken)).status).to.equal(200);
    });

    const signingKey = async (): Promise<string> => {
      const { text } = await realm.admin('GET', '/keys');
      const { keys } = z
        .object({ keys: z.array(z.looseObject({ providerId: z.string(), algorithm: z.string() })) })
        .parse(JSON.parse(text));
      return keys.find(({ algorithm }) => algorithm === 'RS256')?.providerId ?? '';
    };
  });
}

const kid = (token: string) => decodeProtectedHeader(token).kid;

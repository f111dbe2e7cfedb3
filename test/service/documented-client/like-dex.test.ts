import { authorize } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { image, objectsFor } from './embedded.ts';
import { documentedInterface, type SetUp } from './suite.ts';

/** Metadata of Dex: no `iss` in answers, no revocation endpoint, no logout endpoint. */
const metadata = {
  authorization_response_iss_parameter_supported: undefined,
  revocation_endpoint: undefined,
  end_session_endpoint: undefined,
};

async function likeDex(login: Record<string, unknown> = {}): Promise<SetUp> {
  const provider = await TestProvider.start({ tls: true, clientSecret: 'documented-secret' });
  provider.misbehave({ metadata });
  const cluster = await LoginCluster.start({ trusts: provider });
  await cluster.kubernetes.apply(...objectsFor('jane@example.com'));
  const service = await cluster.service({ provider, config: { login, kubernetes: { credentials: 'passthrough' } } });
  return {
    base: service.url,
    authenticate: (authURL) => authorize(authURL),
    canRenew: login.responseMode !== 'id_token',
    image,
    file: '/',
    async stop() {
      await cluster.stop();
      await provider.stop();
    },
  };
}

documentedInterface('with an issuer that behaves as Dex', likeDex);
documentedInterface('with an issuer that behaves as Dex, ID token flow', () => likeDex({ responseMode: 'id_token' }));

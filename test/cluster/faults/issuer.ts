import { authorize, Browser, loginInfoOf, type Reply } from '../../service/login/provider/browser.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { FaultProxy } from './fault-proxy.ts';
import type { RealCluster } from './real-cluster.ts';

const endpointNames = {
  authorization_endpoint: 'authorize',
  token_endpoint: 'token',
  userinfo_endpoint: 'userinfo',
  jwks_uri: 'jwks',
  revocation_endpoint: 'revocation',
  end_session_endpoint: 'end_session',
};

interface Begun {
  browser: Browser;
  /** What the issuer sent the browser back with. */
  answer: URLSearchParams;
  finish: () => Promise<Reply>;
}

/** An https issuer whose every answer to the service passes a fault proxy. */
export class Issuer {
  readonly provider: TestProvider;
  readonly proxy: FaultProxy;
  readonly #caFile: string;

  private constructor(provider: TestProvider, proxy: FaultProxy, caFile: string) {
    this.provider = provider;
    this.proxy = proxy;
    this.#caFile = caFile;
  }

  static async start(cluster: RealCluster, options: { now?: () => Date } = {}): Promise<Issuer> {
    const provider = await TestProvider.start(options);
    const { serving, certificateAuthority } = cluster.control;
    const issuer = new Issuer(
      provider,
      await FaultProxy.start({ target: provider.origin, serving }),
      await cluster.file(certificateAuthority),
    );
    const endpoints = Object.entries(endpointNames).map(([name, endpoint]) => [name, `${issuer.url}/${endpoint}`]);
    provider.misbehave({
      metadata: { issuer: issuer.url, ...Object.fromEntries(endpoints) },
      idToken: { claims: { iss: issuer.url } },
    });
    return issuer;
  }

  /** The issuer identifier. */
  get url(): string {
    return this.provider.issuer.replace(this.provider.origin, this.proxy.url);
  }

  /** Of a service that logs people in here. */
  get config() {
    const login = { issuer: this.url, clientID: this.provider.clientID, caFile: this.#caFile, perMinute: 100_000 };
    return { login, kubernetes: { credentials: 'impersonate' } };
  }

  /** Up to the callback, as a browser goes it, which is then ready to be sent. */
  async begin(service: { url: string }, parameters: Record<string, string> = { token_storage: 'cookie' }): Promise<Begun> {
    const browser = new Browser(service.url);
    const { auth_url: url } = loginInfoOf(await browser.login('v2', parameters));
    // Browsers are not what is tested here: theirs is the straight way.
    const answer = await authorize(url.replace(this.proxy.url, this.provider.origin));
    return { browser, answer, finish: () => browser.callback('v2', answer) };
  }

  async logIn(service: { url: string }, parameters?: Record<string, string>): Promise<{ browser: Browser; callback: Reply }> {
    const { browser, finish } = await this.begin(service, parameters);
    return { browser, callback: await finish() };
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.provider.stop();
  }
}

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
  /** Parameters of the issuer's redirect to the callback. */
  answer: URLSearchParams;
  finish: () => Promise<Reply>;
}

/** An https issuer behind a fault proxy. */
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

  /** Issuer identifier. */
  get url(): string {
    return this.provider.issuer.replace(this.provider.origin, this.proxy.url);
  }

  /** Configuration of a service with logins at this issuer. */
  get config() {
    const login = { issuer: this.url, clientID: this.provider.clientID, caFile: this.#caFile, perMinute: 100_000 };
    return { login, kubernetes: { credentials: 'impersonate' } };
  }

  /** Logs in up to the callback. @returns a function that sends it */
  async begin(service: { url: string }, parameters: Record<string, string> = { token_storage: 'cookie' }): Promise<Begun> {
    const browser = new Browser(service.url);
    const { auth_url: url } = loginInfoOf(await browser.login('v2', parameters));
    // The browser's request bypasses the fault proxy, because only the service is tested.
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

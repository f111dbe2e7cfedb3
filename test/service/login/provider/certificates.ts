import { type Dispatcher, request } from 'undici';
import { type KeyPair, loopbackCertificates } from '../../../cluster/certificates.ts';
import { Trusting } from '../../../support/trusting.ts';

let made: Promise<{ authority: KeyPair; serving: KeyPair }> | undefined;

/** Those of all https providers of a run, so that the browsers of its tests can trust one authority. */
export function providerCertificates(): Promise<{ authority: KeyPair; serving: KeyPair }> {
  made ??= loopbackCertificates();
  return made;
}

let agent: Promise<Trusting> | undefined;

/** Opens an address of a provider, http or https, as the person's browser does; never follows a redirect. */
export async function visit(url: string | URL): Promise<Dispatcher.ResponseData> {
  agent ??= providerCertificates().then(({ authority }) => new Trusting(authority.certificate));
  return request(url, { dispatcher: await agent });
}

import { type Dispatcher, request } from 'undici';
import { type KeyPair, loopbackCertificates } from '../../../cluster/certificates.ts';
import { Trusting } from '../../../support/trusting.ts';

let made: Promise<{ authority: KeyPair; serving: KeyPair }> | undefined;

/** Returns the certificates of all https providers of a run, so that browsers need to trust one authority. */
export function providerCertificates(): Promise<{ authority: KeyPair; serving: KeyPair }> {
  made ??= loopbackCertificates();
  return made;
}

let agent: Promise<Trusting> | undefined;

/** Opens an address of a provider, http or https, and never follows a redirect. */
export async function visit(url: string | URL): Promise<Dispatcher.ResponseData> {
  agent ??= providerCertificates().then(({ authority }) => new Trusting(authority.certificate));
  return request(url, { dispatcher: await agent });
}

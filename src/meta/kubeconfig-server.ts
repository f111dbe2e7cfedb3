/** The server that a kubeconfig names: the API server, or `/api/kubernetes` of this service. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { type PublicCluster, publicCluster } from '@atrium/kubernetes/kubeconfig-text.ts';
import { badParameter, serviceUnavailable } from '@atrium/objects/status.ts';
import { type IssuerConfig, issuersOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';

/** A credential that a kubeconfig could hold or get. */
export interface CredentialUse {
  /** Verdict of the API server. `perhaps` is for access tokens, which need its webhook. */
  atCluster: 'yes' | 'perhaps' | 'no';
  /** Reason for which the service does not accept it; undefined if it does. */
  refusedHere?: string | undefined;
}

const certificateInstead = 'POST /auth/v1/authorize returns a kubeconfig with a client certificate, which it accepts';

/**
 * Returns the server that the query names, or else one that accepts the credential: the API server, if it is certain to.
 *
 * @throws StatusError 400 if that server would refuse the credential; 503 if the authority of the issuer cannot be read
 */
export async function serverOf(
  { config, connection }: { config: Config; connection: Connection },
  via: 'cluster' | 'console' | undefined,
  { atCluster, refusedHere }: CredentialUse,
): Promise<PublicCluster> {
  const obstacle = consoleObstacle(config) ?? refusedHere;
  if (via === 'console' && obstacle !== undefined) throw badParameter('via', `cannot be console: ${obstacle}`);
  if (via === 'console' || (via === undefined && atCluster !== 'yes' && obstacle === undefined)) return consoleServer(config);
  if (atCluster !== 'no') return publicCluster(connection, config.kubernetes);
  const alternative = obstacle === undefined ? 'via=console works' : `via=console does not work: ${obstacle}`;
  const refusal = 'the API server accepts no tokens of the issuer (kubernetes.credentials)';
  throw badParameter('via', `cannot be cluster: ${refusal}; ${alternative}; ${certificateInstead}`);
}

/** Returns the reason for which no kubeconfig can name this service; undefined if one can. */
function consoleObstacle({ features, server: { publicURL } }: Config): string | undefined {
  if (!features.kubernetesProxy) return 'features.kubernetesProxy is disabled';
  if (publicURL === undefined) return 'server.publicURL is not set';
  return publicURL.startsWith('https:') ? undefined : 'kubectl sends no credentials to an http address, and server.publicURL is one';
}

/** Returns `server.publicURL` without a slash at its end. */
export const consoleURLOf = ({ server: { publicURL = '' } }: Config): string => publicURL.replace(/\/{1,8}$/, '');

async function consoleServer(config: Config): Promise<PublicCluster> {
  return { server: `${consoleURLOf(config)}/api/kubernetes`, certificateAuthority: await consoleAuthority(config) };
}

/**
 * Returns the certificate authority that is set for an issuer, as PEM. Users' machines have to trust the issuer as well.
 *
 * @throws StatusError 503 if it cannot be read
 */
export async function issuerAuthority({ caFile }: Pick<IssuerConfig, 'caFile'>): Promise<string | undefined> {
  if (caFile === undefined) return undefined;
  try {
    return await readFile(caFile, 'utf8');
  } catch (error) {
    throw serviceUnavailable('identity provider', { cause: error });
  }
}

/**
 * Returns the authority of the embedded issuer, which has the address of this service; or else the self-signed certificates of our own
 * chain. PEM; '' if neither exists, and the authorities of the system verify the service.
 */
async function consoleAuthority(config: Config): Promise<string> {
  const embedded = issuersOf(config).find(({ isEmbedded }) => isEmbedded);
  const authority = embedded && (await issuerAuthority(embedded));
  if (authority !== undefined || config.server.tls === undefined) return authority ?? '';
  const chain = await readFile(config.server.tls.certFile, 'utf8');
  const certificates = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return certificates.filter(isSelfSigned).join('\n');
}

function isSelfSigned(pem: string): boolean {
  const certificate = new X509Certificate(pem);
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

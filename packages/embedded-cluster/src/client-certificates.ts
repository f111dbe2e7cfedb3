/** Callers who prove themselves with a client certificate of the cluster's authority: CN is the user, each O a group. */

import 'reflect-metadata';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { subjectNames } from './signing-request.ts';
import { AUTHENTICATED, type UserInfo } from './tokens.ts';

/** Whom the certificate of a connection names; undefined if it came without one, `refused` for one that does not count (any longer). */
export function certificateUser(socket: Socket, now: Date): UserInfo | 'refused' | undefined {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || certificate === undefined) return undefined;
  const { commonName, organizations } = subjectNames(new x509.X509Certificate(certificate.raw).subjectName);
  // The handshake has checked the signature and that it is for clients; a connection may outlive it.
  if (!socket.authorized || certificate.validToDate < now || commonName === '') return 'refused';
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return {
    username: commonName,
    uid: '',
    groups: [...organizations, AUTHENTICATED],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
  };
}

import { z } from 'zod';

/** Minimum of the API server (CertificateSigningRequest `spec.expirationSeconds`). */
const leastSeconds = 600;

/** Room for 512 groups with long names, and a large key. */
const maxRequestLength = 256 * 1024;

/** All members are optional. An empty body requests a certificate for the caller, with a new key. */
export const certificateBody = z
  .strictObject({
    apiVersion: z.literal('auth.platform.io/v1').optional(),
    kind: z.literal('UserCertificate').optional(),
    metadata: z.looseObject({}).optional(),
    spec: z
      .strictObject({
        request: z
          .string()
          .min(1)
          .max(maxRequestLength)
          .optional()
          .describe('Base64 of a PEM certificate request (PKCS #10). Default: the service creates a key, and returns it once.'),
        expirationSeconds: z
          .int({ error: 'must be a whole number of seconds' })
          .min(leastSeconds, `must be at least ${leastSeconds}`)
          .default(3600)
          .describe('Lifetime in seconds, at most `users.certificates.maxSeconds`; a larger number is reduced.'),
        user: z.string().min(1).optional().describe('Name of a User record. Default: the caller.'),
        groups: z.array(z.string().min(1)).max(512).optional().describe('Subset of the groups of that user. Default: all groups.'),
        namespace: z
          .string()
          .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label')
          .optional()
          .describe('Namespace of the context in the kubeconfig.'),
      })
      .prefault({}),
  })
  .prefault({})
  .meta({ examples: [{ spec: { expirationSeconds: 3600, namespace: 'shop' } }] });

export type CertificateRequest = z.output<typeof certificateBody>['spec'];

const time = z.iso.datetime();

export const userCertificate = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UserCertificate'),
    metadata: z.object({ name: z.string() }),
    spec: z.object({ expirationSeconds: z.int(), user: z.string().optional().describe('Missing for a caller without a User record.') }),
    status: z.object({
      subject: z.object({ commonName: z.string(), organizations: z.array(z.string()) }),
      certificate: z.string().describe('PEM.'),
      key: z.string().optional().describe('PEM, PKCS #8. Returned once, if the service created the key.'),
      certificateAuthority: z.string().describe('PEM; verifies the API server.'),
      serialNumber: z.string().describe('Hexadecimal.'),
      notBefore: time,
      notAfter: time,
      kubeconfig: z.string().describe('YAML. Names the file client.key if the client has the key.'),
    }),
  })
  .meta({
    id: 'UserCertificate',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'UserCertificate',
        metadata: { name: 'atrium-8c87b489-x7k2p' },
        spec: { expirationSeconds: 3600, user: '8c87b489ce35cf2e2f39f80e282cb2e8' },
        status: {
          subject: { commonName: 'jane@example.com', organizations: ['dev'] },
          certificate: '-----BEGIN CERTIFICATE-----…',
          key: '-----BEGIN PRIVATE KEY-----…',
          certificateAuthority: '-----BEGIN CERTIFICATE-----…',
          serialNumber: '4f1c9a',
          notBefore: '2026-03-01T10:55:00Z',
          notAfter: '2026-03-01T12:00:00Z',
          kubeconfig: 'apiVersion: v1\nkind: Config\n…',
        },
      },
    ],
  });

export type UserCertificate = z.output<typeof userCertificate>;

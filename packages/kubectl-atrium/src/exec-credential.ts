import * as z from 'zod/mini';
import { CommandError, type Terminal } from './terminal.ts';
import { claimsOf, type Tokens } from './tokens.ts';

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;

const infoSchema = z.object({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  spec: z.optional(z.object({ interactive: z.optional(z.boolean()) })),
});

/** Request of kubectl for a credential. */
export interface ExecRequest {
  apiVersion: (typeof versions)[number];
  isInteractive: boolean;
}

/**
 * Reads KUBERNETES_EXEC_INFO. Without it, a user has called the program.
 *
 * @throws CommandError for a request that is not understood
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
export function execRequestOf({ environment, isInteractive }: Terminal): ExecRequest {
  const text = environment.KUBERNETES_EXEC_INFO;
  if (!text) return { apiVersion: versions[0], isInteractive };
  const info = infoSchema.safeParse(parsed(text));
  if (!info.success) throw new CommandError('KUBERNETES_EXEC_INFO holds no ExecCredential');
  const { apiVersion, spec } = info.data;
  const version = versions.find((known) => known === apiVersion);
  if (version === undefined) throw new CommandError(`the kubeconfig must ask for ${versions.join(' or ')}, not for another version`);
  return { apiVersion: version, isInteractive: spec?.interactive ?? false };
}

/** Formats the credential. Its token is the ID token, because the API server accepts no access tokens. */
export function execCredential({ apiVersion }: ExecRequest, tokens: Tokens): string {
  const expirationTimestamp = claimsOf(tokens)
    .expiresAt.toISOString()
    .replace(/\.\d+Z$/, 'Z');
  return `${JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token: tokens.idToken, expirationTimestamp } })}\n`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { stringify } from 'yaml';

/** An issuer whose ID tokens the API server accepts. The API server requires https. */
export interface TrustedIssuer {
  /** Exact value of the claim `iss`. */
  url: string;
  /** Accepted audiences. A token must name at least one. */
  audiences: readonly [string, ...string[]];
  /** PEM of the authority that verifies the issuer. Default: the authority of the tests. */
  certificateAuthority?: string;
  /** Default `email`. */
  usernameClaim?: string;
  /** Default none. */
  usernamePrefix?: string;
  /** Default `groups`. */
  groupsClaim?: string;
  /** Default none. */
  groupsPrefix?: string;
  /** CEL expression instead of claim and prefix. */
  groupsExpression?: string;
  /** Rules beside the ones that refuse names and groups reserved by Kubernetes. */
  userValidationRules?: readonly { expression: string; message: string }[];
}

/**
 * Returns the file of `--authentication-config`. The API server reloads it when it changes. Names and groups reserved by Kubernetes are
 * refused, as its documentation recommends.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
export function authenticationConfig(issuers: Iterable<TrustedIssuer>, ownAuthority: string): string {
  return stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [...issuers].map((issuer) => ({
      issuer: {
        url: issuer.url,
        audiences: issuer.audiences,
        audienceMatchPolicy: 'MatchAny',
        certificateAuthority: issuer.certificateAuthority ?? ownAuthority,
      },
      claimMappings: {
        username: { claim: issuer.usernameClaim ?? 'email', prefix: issuer.usernamePrefix ?? '' },
        groups: issuer.groupsExpression
          ? { expression: issuer.groupsExpression }
          : { claim: issuer.groupsClaim ?? 'groups', prefix: issuer.groupsPrefix ?? '' },
        uid: { claim: 'sub' },
      },
      userValidationRules: [
        { expression: "!user.username.startsWith('system:')", message: 'no name of Kubernetes itself' },
        { expression: "user.groups.all(group, !group.startsWith('system:'))", message: 'no group of Kubernetes itself' },
        ...(issuer.userValidationRules ?? []),
      ],
    })),
  });
}

/** A webhook that authenticates bearer tokens. */
export interface TokenWebhook {
  /** An https URL, verified by the authority of the tests. */
  url: string;
  /** User whose token the API server sends as its credential, or the text to send. */
  as: string;
  /** Version of the TokenReview. Default: v1. */
  version?: 'v1' | 'v1beta1';
}

/**
 * Returns the file of `--authentication-token-webhook-config-file`.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
 */
export function tokenWebhookConfig({ url, as }: TokenWebhook, ownAuthority: string, tokens: ReadonlyMap<string, string>): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'atrium', cluster: { server: url, 'certificate-authority-data': Buffer.from(ownAuthority).toString('base64') } }],
    users: [{ name: 'kube-apiserver', user: { token: tokens.get(as) ?? as } }],
    contexts: [{ name: 'webhook', context: { cluster: 'atrium', user: 'kube-apiserver' } }],
    'current-context': 'webhook',
  });
}

/** A receiver of audit events. */
export interface AuditWebhook {
  url: string;
  /** Token that the API server sends, over TLS only. */
  token: string;
  /** PEM. */
  certificateAuthority: string;
}

/**
 * Returns the file of `--audit-webhook-config-file`.
 *
 * @see https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#webhook-backend
 */
export const auditWebhookConfig = ({ url, token, certificateAuthority }: AuditWebhook): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'atrium', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
    ],
    users: [{ name: 'kube-apiserver', user: { token } }],
    contexts: [{ name: 'webhook', context: { cluster: 'atrium', user: 'kube-apiserver' } }],
    'current-context': 'webhook',
  });

/** Flags of docs/audit.md, with which batches of any events fit. */
export const auditWebhookFlags = {
  'audit-webhook-batch-max-size': '4',
  'audit-webhook-batch-throttle-qps': '250',
  'audit-webhook-truncate-enabled': 'true',
  'audit-webhook-truncate-max-event-size': '8388608',
};

/** Audit policy: users and their requests, one line for each answer, with the bodies of deletions alone. */
export const auditPolicy = stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Request', verbs: ['delete', 'deletecollection'] }, { level: 'Metadata' }],
});

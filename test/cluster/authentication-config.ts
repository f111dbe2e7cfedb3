import { stringify } from 'yaml';

/** An issuer whose ID tokens the API server takes. It must be https: the API server speaks to no other. */
export interface TrustedIssuer {
  /** As in the claim `iss`, to the letter. */
  url: string;
  /** A token is for the cluster if it names one of these. */
  audiences: readonly [string, ...string[]];
  /** PEM of what verifies the issuer. Default: the test's own authority. */
  certificateAuthority?: string;
  /** Default `email`. */
  usernameClaim?: string;
  /** Default none. */
  usernamePrefix?: string;
  /** Default `groups`. */
  groupsClaim?: string;
  /** Default none. */
  groupsPrefix?: string;
  /** CEL, instead of claim and prefix. */
  groupsExpression?: string;
  /** Beside those that refuse what is Kubernetes' own. */
  userValidationRules?: readonly { expression: string; message: string }[];
}

/**
 * The file of `--authentication-config`; the API server reads it again when it changes. Names and groups of Kubernetes itself are
 * refused, as its documentation asks for.
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

/** A webhook that says whose a bearer token is. */
export interface TokenWebhook {
  /** https; verified by the test's own authority. */
  url: string;
  /** Whose token the API server sends along: one of the people, or a text of the test's own. */
  as: string;
  /** Of the TokenReview. Default v1. */
  version?: 'v1' | 'v1beta1';
}

/**
 * The file of `--authentication-token-webhook-config-file`.
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

/** Who did what, one line an answer, without bodies. */
export const auditPolicy = stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata' }],
});

/** Objects, and their protobuf from Kubernetes' own Go library (k8s.io/api v0.36). */

export interface Sample {
  object: { apiVersion: string; kind: string; [field: string]: unknown };
  /** Base64. */
  protobuf: string;
}

export const samples: readonly Sample[] = [
  {
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'c',
        generateName: 'c-',
        namespace: 'n',
        uid: 'u1',
        resourceVersion: '7',
        labels: { l: '1', empty: '' },
        annotations: { a: 'ü' },
        finalizers: ['f/a', 'f/b'],
        generation: 3,
        creationTimestamp: '2026-01-02T03:04:05Z',
        deletionTimestamp: '2026-01-02T03:04:06Z',
        deletionGracePeriodSeconds: 0,
        ownerReferences: [{ kind: 'Node', name: 'o', uid: 'u2', apiVersion: 'v1', controller: true, blockOwnerDeletion: false }],
      },
      data: { k: 'v', empty: '' },
      binaryData: { b: 'AAH/' },
      immutable: false,
    },
    protobuf:
      'azhzAAoPCgJ2MRIJQ29uZmlnTWFwEokBCmgKAWMSAmMtGgFuIgAqAnUxMgE3OANCCAil69zKBhAASggIpuvcygYQAFAAWgkKBWVtcHR5EgBaBgoBbBIBMWIHCgFhEgLDvGoVCgROb2RlGgFvIgJ1MioCdjEwATgAcgNmL2FyA2YvYhIJCgVlbXB0eRIAEgYKAWsSAXYaCAoBYhIDAAH/IAAaACIA',
  },
  {
    object: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { k: '/wA=' },
      type: 't',
      stringData: { p: 'q' },
      immutable: true,
    },
    protobuf: 'azhzAAoMCgJ2MRIGU2VjcmV0EikKEQoBcxIAGgAiACoAMgA4AEIAEgcKAWsSAv8AGgF0IgYKAXASAXEoARoAIgA=',
  },
  {
    object: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'n' },
      spec: { finalizers: ['kubernetes'] },
      status: {
        phase: 'Active',
        conditions: [{ type: 'T', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z', reason: 'R', message: 'm' }],
      },
    },
    protobuf:
      'azhzAAoPCgJ2MRIJTmFtZXNwYWNlEkYKEQoBbhIAGgAiACoAMgA4AEIAEgwKCmt1YmVybmV0ZXMaIwoGQWN0aXZlEhkKAVQSBFRydWUiCAil69zKBhAAKgFSMgFtGgAiAA==',
  },
  {
    object: {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'a' },
      automountServiceAccountToken: false,
      secrets: [{ kind: 'Secret', namespace: 'n', name: 's', uid: 'u', apiVersion: 'v1', resourceVersion: '1', fieldPath: 'p' }],
      imagePullSecrets: [{ name: 'i' }],
    },
    protobuf: 'azhzAAoUCgJ2MRIOU2VydmljZUFjY291bnQSNwoRCgFhEgAaACIAKgAyADgAQgASGwoGU2VjcmV0EgFuGgFzIgF1KgJ2MTIBMToBcBoDCgFpIAAaACIA',
  },
  {
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'r' },
      rules: [{ verbs: ['get'], apiGroups: ['', 'apps'], resources: ['pods'], resourceNames: ['p'] }],
    },
    protobuf:
      'azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlEisKEQoBchIAGgAiACoAMgA4AEIAEhYKA2dldBIAEgRhcHBzGgRwb2RzIgFwGgAiAA==',
  },
  {
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { l: '1' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] }],
      },
    },
    protobuf:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRI8ChEKAXISABoAIgAqADIAOABCABIPCgNnZXQqCC9oZWFsdGh6GhYKFAoGCgFsEgExEgoKAWsSAkluGgF2GgAiAA==',
  },
  {
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'b' },
      subjects: [
        { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' },
        { kind: 'ServiceAccount', name: 'a', namespace: 'n' },
      ],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    },
    protobuf:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtSb2xlQmluZGluZxJ9ChEKAWISABoAIgAqADIAOABCABIoCgRVc2VyEhlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvGgNhbm4iABIYCg5TZXJ2aWNlQWNjb3VudBIAGgFhIgFuGiQKGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8SBFJvbGUaAXIaACIA',
  },
  {
    object: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'b' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'g' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
    },
    protobuf:
      'azhzAAoyChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEhJDbHVzdGVyUm9sZUJpbmRpbmcSaQoRCgFiEgAaACIAKgAyADgAQgASJwoFR3JvdXASGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8aAWciABorChlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvEgtDbHVzdGVyUm9sZRoBchoAIgA=',
  },
  {
    object: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: {},
      spec: { nonResourceAttributes: { path: '/p', verb: 'get' } },
      status: {},
    },
    protobuf:
      'azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSKQoQCgASABoAIgAqADIAOABCABILEgkKAi9wEgNnZXQaCAgAEgAaACAAGgAiAA==',
  },
  {
    object: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', metadata: {}, spec: { namespace: 'n' }, status: {} },
    protobuf: 'azhzAAoxChdhdXRob3JpemF0aW9uLms4cy5pby92MRIWU2VsZlN1YmplY3RSdWxlc1JldmlldxIdChAKABIAGgAiACoAMgA4AEIAEgMKAW4aBBgAIgAaACIA',
  },
  {
    object: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {}, status: { userInfo: {} } },
    protobuf: 'azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoECgASABoAIgA=',
  },
  {
    object: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: { audiences: ['a', 'b'], expirationSeconds: 1200, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' } },
      status: {},
    },
    protobuf:
      'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBI0ChAKABIAGgAiACoAMgA4AEIAEhoKAWEKAWIaDwoDUG9kEgJ2MRoBcCIBdSCwCRoECgASABoAIgA=',
  },
];

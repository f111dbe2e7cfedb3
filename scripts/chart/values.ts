/** Values of the chart: their types and checks, from which values.schema.json is generated. Their meaning is in values.yaml. */
import { z } from 'zod';
import {
  addressRange,
  annotations,
  cronSchedule,
  dataKey,
  hostName,
  ipAddress,
  labelSelector,
  labels,
  objectName as nonEmptyName,
  optionalEmailAddress,
  prometheusDuration,
  quantities,
  quantity,
  routedHost,
} from '../../src/config/formats.ts';
import { profileNames } from '../../src/config/profiles.ts';
import { configSchema } from '../../src/config/schema.ts';

const text = () => z.string();
const count = () => z.number().int().min(0);
const port = () => z.number().int().min(1).max(65_535);
/** Kubernetes names. The API server checks the finer rules. */
const objectName = () =>
  z
    .string()
    .regex(/^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$/, 'must be the name of an object: lower-case letters, digits, hyphens and dots');
/** Parts of Kubernetes objects: their members are named, and the API server checks the contents. */
const anything = () => z.unknown().optional();
/** GEP-2257. */
const gatewayDuration = () =>
  z
    .string()
    .regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/, 'must be a duration of the Gateway API such as 30s or 1h')
    .nullish();
const numberOrPercent = () => z.union([count(), z.string().regex(/^\d{1,3}%$/, 'must be a percentage such as 25%')]);

const probe = () =>
  z.strictObject({
    initialDelaySeconds: count().optional(),
    periodSeconds: count().min(1).optional(),
    timeoutSeconds: count().min(1).optional(),
    failureThreshold: count().min(1).optional(),
    successThreshold: count().min(1).optional(),
    terminationGracePeriodSeconds: count().min(1).optional(),
  });

const certificateAuthority = () => z.strictObject({ existingConfigMap: objectName(), existingSecret: objectName(), key: dataKey() });

const resources = () => z.strictObject({ requests: quantities().optional(), limits: quantities().optional(), claims: anything() });

const extraVolumes = () => z.array(z.looseObject({ name: objectName().min(1) }));

const extraVolumeMounts = () =>
  z.array(
    z.strictObject({
      name: objectName().min(1),
      mountPath: z.string().regex(/^\/[^:]*$/, 'must be an absolute path without a colon'),
      readOnly: z.boolean().optional(),
      recursiveReadOnly: text().optional(),
      subPath: text().optional(),
      subPathExpr: text().optional(),
      mountPropagation: text().optional(),
    }),
  );

const peer = () =>
  z.strictObject({
    podSelector: labelSelector().optional(),
    namespaceSelector: labelSelector().optional(),
    ipBlock: z.strictObject({ cidr: addressRange(), except: z.array(addressRange()).optional() }).optional(),
  });

/** RelabelConfig of the Prometheus operator. */
const relabeling = () =>
  z.strictObject({
    sourceLabels: z.array(text()).optional(),
    separator: text().optional(),
    targetLabel: text().optional(),
    regex: text().optional(),
    modulus: count().optional(),
    replacement: text().optional(),
    action: text().optional(),
  });

const identity = {
  runAsUser: count().optional(),
  runAsGroup: count().optional(),
  runAsNonRoot: z.boolean().optional(),
  seccompProfile: anything(),
  seLinuxOptions: anything(),
  appArmorProfile: anything(),
  windowsOptions: anything(),
};

export const valuesSchema = z.strictObject({
  profile: z.enum(profileNames),
  nameOverride: objectName(),
  fullnameOverride: objectName(),
  namespaceOverride: objectName(),
  commonLabels: labels(),
  commonAnnotations: annotations(),
  image: z.strictObject({
    registry: z.string().regex(/^([a-zA-Z0-9][-a-zA-Z0-9.]*(:\d{1,5})?)?$/, 'must be a registry such as registry.example.com:5000'),
    repository: z.string().regex(/^[a-z0-9][-a-zA-Z0-9._:/]*$/, 'must be a repository such as team/atrium'),
    tag: z.string().regex(/^[-\w.]{0,128}$/, 'must be a tag: at most 128 letters, digits, hyphens, dots and underscores'),
    digest: z.string().regex(/^(sha256:[0-9a-f]{64})?$/, 'must be a digest: sha256: and 64 hexadecimal digits in lower case'),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
  }),
  imagePullSecrets: z.array(z.strictObject({ name: objectName().min(1) })),
  config: configSchema,
  clientSecret: z.strictObject({ existingSecret: objectName(), key: dataKey() }),
  tls: z.strictObject({ existingSecret: objectName() }),
  certificateAuthority: certificateAuthority(),
  pluginCertificateAuthority: certificateAuthority(),
  admin: z.strictObject({
    email: optionalEmailAddress(),
    displayName: text().max(128),
    existingSecret: objectName(),
    existingSecretKey: dataKey(),
    clusterRoles: z.array(text().min(1)),
    subject: text(),
  }),
  replicaCount: count(),
  strategy: z.strictObject({
    type: z.enum(['RollingUpdate', 'Recreate']),
    rollingUpdate: z.strictObject({ maxUnavailable: numberOrPercent(), maxSurge: numberOrPercent() }).optional(),
  }),
  minReadySeconds: count(),
  revisionHistoryLimit: count(),
  preStopSeconds: count(),
  terminationGracePeriodSeconds: count().nullish(),
  autoscaling: z.strictObject({
    enabled: z.boolean(),
    minReplicas: count().min(1),
    maxReplicas: count().min(1),
    targetCPUUtilizationPercentage: count().min(1),
    targetMemoryUtilizationPercentage: count().min(1).nullish(),
    behavior: z.strictObject({ scaleUp: anything(), scaleDown: anything() }),
  }),
  podDisruptionBudget: z.strictObject({
    enabled: z.boolean(),
    maxUnavailable: numberOrPercent().nullish(),
    minAvailable: numberOrPercent().nullish(),
  }),
  resources: resources(),
  startupProbe: probe(),
  readinessProbe: probe(),
  livenessProbe: probe(),
  topologySpread: z.strictObject({
    topologyKeys: z.array(text().min(1)),
    whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']),
  }),
  topologySpreadConstraints: z.array(
    z.strictObject({
      maxSkew: count().min(1),
      topologyKey: text().min(1),
      whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']),
      labelSelector: labelSelector().optional(),
      matchLabelKeys: z.array(text()).optional(),
      minDomains: count().optional(),
      nodeAffinityPolicy: text().optional(),
      nodeTaintsPolicy: text().optional(),
    }),
  ),
  podAntiAffinity: z.enum(['none', 'preferred', 'required']),
  affinity: z.strictObject({ nodeAffinity: anything(), podAffinity: anything(), podAntiAffinity: anything() }),
  nodeSelector: labels(),
  tolerations: z.array(
    z.strictObject({
      key: text().optional(),
      operator: text().optional(),
      value: text().optional(),
      effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
      tolerationSeconds: z.number().int().optional(),
    }),
  ),
  priorityClassName: objectName(),
  runtimeClassName: objectName(),
  annotations: annotations(),
  podAnnotations: annotations(),
  podLabels: labels(),
  podSecurityContext: z.strictObject({
    ...identity,
    fsGroup: count().optional(),
    fsGroupChangePolicy: text().optional(),
    supplementalGroups: z.array(count()).optional(),
    supplementalGroupsPolicy: text().optional(),
    seLinuxChangePolicy: text().optional(),
    sysctls: z.array(z.strictObject({ name: text(), value: text() })).optional(),
  }),
  securityContext: z.strictObject({
    ...identity,
    allowPrivilegeEscalation: z.boolean().optional(),
    readOnlyRootFilesystem: z.boolean().optional(),
    privileged: z.boolean().optional(),
    procMount: text().optional(),
    capabilities: z.strictObject({ add: z.array(text()).optional(), drop: z.array(text()).optional() }).optional(),
  }),
  extraEnv: z.array(
    z.strictObject({
      name: z.string().regex(/^[^=\s]+$/, 'must be the name of a variable, without = and blanks'),
      value: text().optional(),
      valueFrom: anything(),
    }),
  ),
  envFrom: z.array(z.strictObject({ prefix: text().optional(), configMapRef: anything(), secretRef: anything() })),
  extraVolumes: extraVolumes(),
  extraVolumeMounts: extraVolumeMounts(),
  initContainers: z.array(z.looseObject({ name: objectName().min(1) })),
  extraContainers: z.array(z.looseObject({ name: objectName().min(1) })),
  hostAliases: z.array(z.strictObject({ ip: ipAddress(), hostnames: z.array(hostName()) })),
  dnsConfig: z.strictObject({
    nameservers: z.array(ipAddress()).optional(),
    searches: z.array(z.union([z.literal('.'), hostName()])).optional(),
    options: z.array(z.strictObject({ name: text().min(1), value: text().optional() })).optional(),
  }),
  extraObjects: z.array(z.looseObject({ apiVersion: text().min(1), kind: text().min(1) })),
  serviceAccount: z.strictObject({ create: z.boolean(), name: objectName(), annotations: annotations() }),
  rbac: z.strictObject({
    create: z.boolean(),
    impersonation: z.strictObject({ users: z.array(text().min(1)), groups: z.array(text().min(1)), constrained: z.boolean().nullish() }),
    userBindings: z.strictObject({ clusterRoles: z.array(text().min(1)) }),
  }),
  roles: z.strictObject({ install: z.boolean() }),
  crds: z.strictObject({ install: z.boolean() }),
  admissionPolicy: z.strictObject({
    install: z.boolean(),
    serviceAccounts: z.array(z.strictObject({ namespace: objectName().min(1), name: objectName().min(1) })),
    directShells: z.strictObject({ users: z.array(text().min(1)), groups: z.array(text().min(1)) }),
  }),
  accessRequests: z.strictObject({ sweep: z.strictObject({ enabled: z.boolean(), schedule: cronSchedule() }) }),
  auditStore: z.strictObject({
    enabled: z.boolean(),
    tls: z.strictObject({ existingSecret: objectName(), caKey: z.union([z.literal(''), dataKey()]) }),
    persistence: z.strictObject({
      existingClaim: objectName(),
      size: quantity(),
      storageClassName: objectName().nullish(),
      accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany'])).min(1),
    }),
    spool: z.strictObject({ sizeLimit: quantity() }),
    postgres: z.strictObject({ existingSecret: objectName(), key: dataKey(), certificateAuthority: certificateAuthority() }),
    s3: z.strictObject({
      existingSecret: objectName(),
      accessKeyIDKey: dataKey(),
      secretAccessKeyKey: dataKey(),
      certificateAuthority: certificateAuthority(),
    }),
    apiServer: z.strictObject({
      existingSecret: objectName(),
      key: dataKey(),
      clusterIP: z.union([z.literal(''), ipAddress()]),
      cidrs: z.array(addressRange()),
    }),
    resources: resources(),
    annotations: annotations(),
    podAnnotations: annotations(),
    extraVolumes: extraVolumes(),
    extraVolumeMounts: extraVolumeMounts(),
  }),
  service: z.strictObject({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']),
    port: port().nullish(),
    nodePort: port().nullish(),
    annotations: annotations(),
    loadBalancerSourceRanges: z.array(addressRange()),
    externalTrafficPolicy: z.enum(['Cluster', 'Local']),
    ipFamilyPolicy: z.enum(['', 'SingleStack', 'PreferDualStack', 'RequireDualStack']),
    ipFamilies: z.array(z.enum(['IPv4', 'IPv6'])).max(2),
  }),
  ingress: z.strictObject({
    enabled: z.boolean(),
    className: objectName(),
    annotations: annotations(),
    hosts: z.array(
      z.strictObject({
        host: routedHost(),
        paths: z
          .array(
            z.strictObject({
              path: z.string().regex(/^\//, 'must be a path that begins with /'),
              pathType: z.enum(['Prefix', 'Exact', 'ImplementationSpecific']).optional(),
            }),
          )
          .optional(),
      }),
    ),
    tls: z.array(z.strictObject({ secretName: objectName().min(1), hosts: z.array(routedHost()).optional() })),
  }),
  httpRoute: z.strictObject({
    enabled: z.boolean(),
    annotations: annotations(),
    parentRefs: z.array(
      z.strictObject({
        group: objectName().optional(),
        kind: text().optional(),
        namespace: objectName().optional(),
        name: nonEmptyName(),
        sectionName: text().optional(),
        port: port().optional(),
      }),
    ),
    hostnames: z.array(routedHost()),
    timeouts: z.strictObject({ request: gatewayDuration(), backendRequest: gatewayDuration() }),
    rules: z.array(
      z.strictObject({
        name: text().optional(),
        matches: anything(),
        filters: anything(),
        backendRefs: anything(),
        timeouts: anything(),
        retry: anything(),
        sessionPersistence: anything(),
      }),
    ),
  }),
  metrics: z.strictObject({
    service: z.strictObject({ enabled: z.boolean(), annotations: annotations() }),
    serviceMonitor: z.strictObject({
      enabled: z.boolean(),
      namespace: objectName(),
      labels: labels(),
      interval: prometheusDuration(),
      scrapeTimeout: prometheusDuration(),
      relabelings: z.array(relabeling()),
      metricRelabelings: z.array(relabeling()),
    }),
    prometheusRule: z.strictObject({
      enabled: z.boolean(),
      namespace: objectName(),
      labels: labels(),
      alertLabels: z.record(
        z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'must be a label of Prometheus: letters, digits and underscores'),
        z.string(),
      ),
    }),
    dashboard: z.strictObject({ enabled: z.boolean(), namespace: objectName(), labels: labels(), annotations: annotations() }),
  }),
  networkPolicy: z.strictObject({
    enabled: z.boolean(),
    ingressFrom: z.array(peer()),
    metricsFrom: z.array(peer()),
    egress: z.strictObject({
      enabled: z.boolean(),
      dnsPorts: z.array(port()).min(1),
      apiServerPorts: z.array(port()).min(1),
      apiServerCIDRs: z.array(addressRange()),
      issuerPorts: z.array(port()),
      smtpPorts: z.array(port()),
      ldapPorts: z.array(port()),
      postgresPorts: z.array(port()).min(1),
      extra: z.array(z.strictObject({ to: z.array(peer()).optional(), ports: anything() })),
    }),
  }),
  // Values that Helm passes from a parent chart.
  global: anything(),
});

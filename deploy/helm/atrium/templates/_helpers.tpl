{{- define "atrium.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 50 characters, so that a suffix still fits into a name of 63. */}}
{{- define "atrium.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "atrium.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "atrium.namespace" -}}{{ default .Release.Namespace .Values.namespaceOverride }}{{- end -}}

{{- define "atrium.selector" -}}
app.kubernetes.io/name: {{ include "atrium.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "atrium.labels" -}}
{{ include "atrium.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: atrium
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels, and the annotations that all objects and this one have: `include "atrium.metadata" (list . annotations labels)`. */}}
{{- define "atrium.metadata" -}}
{{- $root := index . 0 -}}
{{- $annotations := merge (dict) (index . 1) $root.Values.commonAnnotations -}}
labels:
  {{- include "atrium.labels" $root | nindent 2 }}
  {{- if gt (len .) 2 }}
  {{- with index . 2 }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "atrium.image" -}}
{{- with .Values.image -}}
{{- $registry := default .registry (dig "imageRegistry" "" (default (dict) $.Values.global)) -}}
{{- $repository := empty $registry | ternary .repository (printf "%s/%s" $registry .repository) -}}
{{- if .digest -}}{{ $repository }}@{{ .digest }}{{- else -}}{{ $repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "atrium.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "atrium.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "atrium.profile" -}}{{ default .Values.profile (dig "profile" "" (default (dict) .Values.config)) }}{{- end -}}

{{/* A setting by its path, or that of the profile, or its default in files/defaults.yaml: `include "atrium.setting" (list . "server.port")`. A
third argument is the default of a setting that has none there. */}}
{{- define "atrium.setting" -}}
{{- $root := index . 0 -}}
{{- $path := splitList "." (index . 1) -}}
{{- $own := include "atrium.valueAt" (list $root.Values.config $path) -}}
{{- $ofProfile := include "atrium.valueAt" (list ($root.Files.Get "files/profiles.yaml" | fromYaml) (prepend $path (include "atrium.profile" $root))) -}}
{{- if $own -}}{{ $own }}{{- else if $ofProfile -}}{{ $ofProfile }}{{- else if gt (len .) 2 -}}{{ index . 2 }}
{{- else -}}{{ include "atrium.valueAt" (list ($root.Files.Get "files/defaults.yaml" | fromYaml) $path) }}{{- end -}}
{{- end -}}

{{- define "atrium.valueAt" -}}
{{- $at := index . 0 -}}
{{- range index . 1 -}}
{{- $at = ternary (get (default (dict) $at) .) "" (kindIs "map" (default (dict) $at)) -}}
{{- end -}}
{{- if kindIs "invalid" $at -}}{{- else if kindIs "float64" $at -}}{{ int64 $at }}{{- else -}}{{ $at }}{{- end -}}
{{- end -}}

{{- define "atrium.port" -}}{{ include "atrium.setting" (list . "server.port") }}{{- end -}}
{{- define "atrium.metricsPort" -}}{{ include "atrium.setting" (list . "server.metricsPort") }}{{- end -}}
{{/* Where the service keeps its objects: `kubernetes.namespace`. */}}
{{- define "atrium.home" -}}{{ include "atrium.setting" (list . "kubernetes.namespace" (include "atrium.namespace" .)) }}{{- end -}}
{{/* The external issuers, as a YAML list: `login.issuer`, or those of `login.issuers`. */}}
{{- define "atrium.externalIssuers" -}}
{{- $found := list -}}
{{- with include "atrium.setting" (list . "login.issuer") -}}{{- $found = append $found . -}}{{- end -}}
{{- range dig "login" "issuers" (list) (default (dict) .Values.config) -}}{{- with .issuer -}}{{- $found = append $found . -}}{{- end -}}{{- end -}}
{{- toYaml $found -}}
{{- end -}}
{{/* The first of them; empty where there is none. */}}
{{- define "atrium.issuer" -}}{{- with include "atrium.externalIssuers" . | fromYamlArray -}}{{ first . }}{{- end -}}{{- end -}}
{{/* Whether people log in at the embedded one: it is the default, and an entry of `login.issuers` that names no issuer. */}}
{{- define "atrium.usesEmbeddedIssuer" -}}
{{- $entries := dig "login" "issuers" (list) (default (dict) .Values.config) | default list -}}
{{- $external := include "atrium.externalIssuers" . | fromYamlArray -}}
{{- if $entries -}}{{ gt (len $entries) (len $external) }}{{- else -}}{{ empty $external }}{{- end -}}
{{- end -}}
{{- define "atrium.publicURL" -}}{{ include "atrium.setting" (list . "server.publicURL") }}{{- end -}}
{{- define "atrium.publicHost" -}}
{{- with include "atrium.publicURL" . -}}{{ regexReplaceAll ":[0-9]+$" (urlParse .).host "" }}{{- end -}}
{{- end -}}
{{/* Below which everything is served; never with a slash at its end. */}}
{{- define "atrium.basePath" -}}
{{- with include "atrium.publicURL" . -}}{{ regexReplaceAll "/+$" (urlParse .).path "" }}{{- end -}}
{{- end -}}

{{/* Whether the embedded OpenID provider runs, as src/config decides it. */}}
{{- define "atrium.hasEmbeddedIssuer" -}}
{{- $enabled := include "atrium.setting" (list . "identity.enabled" (include "atrium.usesEmbeddedIssuer" .)) -}}
{{- if and (eq $enabled "true") (include "atrium.publicURL" .) -}}true{{- end -}}
{{- end -}}

{{- define "atrium.credentials" -}}
{{- $isEmbedded := and (eq (include "atrium.usesEmbeddedIssuer" .) "true") (ne (include "atrium.setting" (list . "identity.enabled")) "false") -}}
{{- include "atrium.setting" (list . "kubernetes.credentials" (ternary "impersonate" "passthrough" $isEmbedded)) -}}
{{- end -}}

{{/* A duration such as 25s in whole seconds, rounded up. */}}
{{- define "atrium.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- if eq $unit "ms" -}}{{ div (add $number 999) 1000 }}{{- else -}}{{ mul $number (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) $unit) }}{{- end -}}
{{- end -}}

{{- define "atrium.terminationGracePeriodSeconds" -}}
{{- $needed := add .Values.preStopSeconds (include "atrium.seconds" (include "atrium.setting" (list . "server.shutdownGrace")) | int) -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}{{ add $needed 5 }}
{{- else if lt (int64 $given) (int64 $needed) -}}
{{- fail (printf "terminationGracePeriodSeconds: %d would cut requests off: preStopSeconds and config.server.shutdownGrace need %d" (int64 $given) (int64 $needed)) -}}
{{- else -}}{{ int64 $given }}{{- end -}}
{{- end -}}

{{- define "atrium.clientSecretDirectory" -}}/var/run/secrets/atrium/client-secret{{- end -}}
{{- define "atrium.tlsDirectory" -}}/var/run/secrets/atrium/tls{{- end -}}
{{- define "atrium.caFile" -}}/var/run/secrets/atrium/certificate-authority/ca.crt{{- end -}}
{{- define "atrium.pluginsCAFile" -}}/var/run/secrets/atrium/plugin-certificate-authority/ca.crt{{- end -}}

{{/* The configuration: what the admin wrote, and the paths of what is mounted. */}}
{{- define "atrium.config" -}}
{{- include "atrium.requirePublicURL" . -}}
{{- $config := mustMergeOverwrite (dict "profile" (include "atrium.profile" .)) (deepCopy .Values.config) -}}
{{- if .Values.clientSecret.existingSecret -}}
{{- $config = mustMergeOverwrite $config (dict "login" (dict "clientSecretFile" (printf "%s/client-secret" (include "atrium.clientSecretDirectory" .)))) -}}
{{- end -}}
{{- if include "atrium.caVolume" . -}}
{{- $config = mustMergeOverwrite $config (dict "login" (dict "caFile" (include "atrium.caFile" .))) -}}
{{- end -}}
{{- if include "atrium.pluginsCAVolume" . -}}
{{- $config = mustMergeOverwrite $config (dict "console" (dict "plugins" (dict "caFile" (include "atrium.pluginsCAFile" .)))) -}}
{{- end -}}
{{- with .Values.tls.existingSecret -}}
{{- $directory := include "atrium.tlsDirectory" $ -}}
{{- $tls := dict "certFile" (printf "%s/tls.crt" $directory) "keyFile" (printf "%s/tls.key" $directory) -}}
{{- $config = mustMergeOverwrite $config (dict "server" (dict "tls" $tls)) -}}
{{- end -}}
{{- if .Values.auditStore.enabled -}}
{{- if dig "audit" "store" nil .Values.config -}}
{{- fail "config.audit.store: auditStore.enabled sets it; leave one of them out" -}}
{{- end -}}
{{- $store := dict "url" (include "atrium.auditStoreURL" .) -}}
{{- if include "atrium.auditStoreCAKey" . -}}{{- $_ := set $store "caFile" (printf "%s/ca.crt" (include "atrium.auditStoreDirectory" .)) -}}{{- end -}}
{{- $config = mustMergeOverwrite $config (dict "audit" (dict "store" $store)) -}}
{{- if include "atrium.hasAuditSpool" . -}}{{- $config = mustMergeOverwrite $config (dict "audit" (dict "spool" (dict "directory" (include "atrium.auditSpoolDirectory" .)))) -}}{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* At most 52 characters: the revisions of a StatefulSet add eleven, and are a label. */}}
{{- define "atrium.auditStoreName" -}}{{ include "atrium.fullname" . | trunc 40 | trimSuffix "-" }}-audit-store{{- end -}}
{{- define "atrium.auditStorePort" -}}8080{{- end -}}
{{- define "atrium.auditStoreScheme" -}}{{ ternary "https" "http" (not (empty .Values.auditStore.tls.existingSecret)) }}{{- end -}}
{{- define "atrium.auditStoreURL" -}}
{{ include "atrium.auditStoreScheme" . }}://{{ include "atrium.auditStoreName" . }}.{{ include "atrium.namespace" . }}.svc:{{ include "atrium.auditStorePort" . }}
{{- end -}}
{{- define "atrium.auditStoreCAKey" -}}{{- with .Values.auditStore.tls -}}{{- if .existingSecret -}}{{ .caKey }}{{- end -}}{{- end -}}{{- end -}}
{{- define "atrium.auditStoreDirectory" -}}/var/run/secrets/atrium/audit-store{{- end -}}

{{/* A token that the store alone accepts, and the authority of its certificate; empty without a store. */}}
{{- define "atrium.auditStoreVolume" -}}
{{- if .Values.auditStore.enabled -}}
- name: audit-store
  projected:
    sources:
      - serviceAccountToken:
          audience: atrium-audit-store
          path: token
          expirationSeconds: 3600
      {{- with include "atrium.auditStoreCAKey" . }}
      - secret:
          name: {{ $.Values.auditStore.tls.existingSecret }}
          items:
            - key: {{ . }}
              path: ca.crt
      {{- end }}
{{- end -}}
{{- end -}}

{{- define "atrium.auditStoreMount" -}}
{{- if .Values.auditStore.enabled -}}
- name: audit-store
  mountPath: {{ include "atrium.auditStoreDirectory" . }}
  readOnly: true
{{- end -}}
{{- end -}}

{{/* The spool of a pod of the service, unless the configuration names a directory of its own. */}}
{{- define "atrium.auditSpoolDirectory" -}}/var/spool/atrium{{- end -}}
{{- define "atrium.hasAuditSpool" -}}{{- if and .Values.auditStore.enabled (not (dig "audit" "spool" "directory" "" .Values.config)) -}}true{{- end -}}{{- end -}}

{{- define "atrium.caVolume" -}}{{ include "atrium.bundleVolume" (list . "certificateAuthority") }}{{- end -}}
{{- define "atrium.pluginsCAVolume" -}}{{ include "atrium.bundleVolume" (list . "pluginCertificateAuthority") }}{{- end -}}

{{/* What the value of that name says where a PEM bundle is, as a volume with ca.crt in it; empty where it says nothing. */}}
{{- define "atrium.bundleVolume" -}}
{{- with get (index . 0).Values (index . 1) -}}
{{- if and .existingConfigMap .existingSecret -}}
{{- fail (printf "%s: name existingConfigMap or existingSecret, not both" (index $ 1)) -}}
{{- else if .existingConfigMap -}}
configMap:
  name: {{ .existingConfigMap }}
  items:
    - key: {{ .key }}
      path: ca.crt
{{- else if .existingSecret -}}
secret:
  secretName: {{ .existingSecret }}
  items:
    - key: {{ .key }}
      path: ca.crt
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What a kubelet mounts by itself: spelled out, so that nothing is mounted unless it is asked for. */}}
{{- define "atrium.tokenVolume" -}}
- name: service-account
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end -}}

{{- define "atrium.tokenMount" -}}
- name: service-account
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end -}}

{{- define "atrium.probe" -}}
httpGet:
  path: {{ index . 0 }}
  port: metrics
{{ toYaml (index . 1) }}
{{- end -}}

{{- define "atrium.affinity" -}}
{{- $term := printf "topologyKey: kubernetes.io/hostname\nlabelSelector:\n  matchLabels:\n%s\n    app.kubernetes.io/component: server" (include "atrium.selector" . | indent 4) -}}
{{- if .Values.affinity -}}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- else if eq .Values.podAntiAffinity "required" -}}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - {{ $term | nindent 8 | trim }}
{{- else if eq .Values.podAntiAffinity "preferred" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          {{- $term | nindent 10 }}
{{- end -}}
{{- end -}}

{{- define "atrium.scheme" -}}
{{- $tls := dig "server" "tls" nil .Values.config -}}
{{- if or .Values.tls.existingSecret $tls -}}https{{- else -}}http{{- end -}}
{{- end -}}

{{- define "atrium.servicePort" -}}
{{- default (ternary 443 80 (eq (include "atrium.scheme" .) "https")) .Values.service.port -}}
{{- end -}}

{{- define "atrium.ipFamilies" -}}
{{- with .Values.service -}}
{{- with .ipFamilyPolicy -}}
ipFamilyPolicy: {{ . }}
{{ end -}}
{{- with .ipFamilies -}}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Egress that each pod needs: DNS and the API server. */}}
{{- define "atrium.clusterEgress" -}}
{{- with .Values.networkPolicy.egress -}}
- ports:
    {{- range .dnsPorts }}
    - port: {{ . }}
      protocol: UDP
    - port: {{ . }}
      protocol: TCP
    {{- end }}
# The API server.
- ports:
    {{- range .apiServerPorts }}
    - port: {{ . }}
    {{- end }}
  {{- with .apiServerCIDRs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . }}
    {{- end }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* As a YAML list; empty without an issuer. */}}
{{- define "atrium.issuerPorts" -}}
{{- if .Values.networkPolicy.egress.issuerPorts -}}
{{- toYaml .Values.networkPolicy.egress.issuerPorts -}}
{{- else -}}
{{- $urls := include "atrium.externalIssuers" . | fromYamlArray -}}
{{- if eq (include "atrium.usesEmbeddedIssuer" .) "true" -}}{{- $urls = append $urls (include "atrium.publicURL" .) -}}{{- end -}}
{{- include "atrium.portsOf" $urls -}}
{{- end -}}
{{- end -}}

{{/* The ports of addresses, as a YAML list. */}}
{{- define "atrium.portsOf" -}}
{{- $ports := list -}}
{{- range compact . -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports (default (get (dict "http" 80 "https" 443 "ldap" 389 "ldaps" 636) $url.scheme) $port | int) -}}
{{- end -}}
{{- uniq $ports | toYaml -}}
{{- end -}}

{{- define "atrium.smtpPorts" -}}
{{- if .Values.networkPolicy.egress.smtpPorts -}}{{ toYaml .Values.networkPolicy.egress.smtpPorts }}
{{- else if include "atrium.setting" (list . "smtp.host") -}}{{ list (include "atrium.setting" (list . "smtp.port") | int) | toYaml }}
{{- else -}}[]{{- end -}}
{{- end -}}

{{- define "atrium.ldapPorts" -}}
{{- if .Values.networkPolicy.egress.ldapPorts -}}{{ toYaml .Values.networkPolicy.egress.ldapPorts }}
{{- else -}}
{{- $urls := list -}}
{{- range dig "users" "ldap" (list) (default (dict) .Values.config) | default list -}}{{- $urls = append $urls .url -}}{{- end -}}
{{- include "atrium.portsOf" $urls -}}
{{- end -}}
{{- end -}}

{{- define "atrium.webhookPorts" -}}
{{- $urls := list -}}
{{- range dig "accessRequests" "webhooks" (list) (default (dict) .Values.config) | default list -}}{{- $urls = append $urls .url -}}{{- end -}}
{{- include "atrium.portsOf" $urls -}}
{{- end -}}

{{/* Metadata of objects that exist while the first administrator is made: `include "atrium.hook" (list . weight)`. Helm prints the log of a
Job that failed, and then deletes the Job with its account. */}}
{{- define "atrium.hook" -}}
{{- $annotations := dict "helm.sh/hook" "post-install,post-upgrade" "helm.sh/hook-weight" (index . 1 | toString) "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded,hook-failed" "helm.sh/hook-output-log-policy" "hook-failed" -}}
{{- include "atrium.metadata" (list (index . 0) $annotations) -}}
{{- end -}}

{{/* What all pods of the release have in common. */}}
{{- define "atrium.scheduling" -}}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Refuses an installation that no browser can reach. The service refuses to start without it, too. */}}
{{- define "atrium.requirePublicURL" -}}
{{- if not (include "atrium.publicURL" .) -}}
{{- fail "config.server.publicURL: name the address under which browsers reach the service, such as https://console.example.com, or http://localhost:8080 for a first look with kubectl port-forward" -}}
{{- end -}}
{{- end -}}

{{- define "atrium.isImpersonating" -}}
{{- if or (eq (include "atrium.credentials" .) "impersonate") (eq (include "atrium.setting" (list . "features.accessTokens")) "true") -}}true{{- end -}}
{{- end -}}

{{/* Constrained impersonation (KEP-5284) is beta from Kubernetes 1.36 on. No API tells its feature gate, but the version implies its default. */}}
{{- define "atrium.isConstrained" -}}
{{- $wanted := .Values.rbac.impersonation.constrained -}}
{{- $isKnown := semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- if kindIs "bool" $wanted -}}{{ $wanted }}
{{- else if $isKnown -}}true
{{- else if and (eq (include "atrium.profile" .) "team") (not .Values.rbac.impersonation.groups) -}}
{{- fail (printf "rbac.impersonation: Kubernetes %s does not have constrained impersonation (1.36), so that the account of the service could become system:masters. List the groups of your users in rbac.impersonation.groups, or set rbac.impersonation.constrained: false to grant that by name. Give helm template the version of the cluster (--kube-version)" .Capabilities.KubeVersion.Version) -}}
{{- else -}}false{{- end -}}
{{- end -}}

{{/* Refuses a way in through a proxy whose addresses are not known: limits would count all clients as one. */}}
{{- define "atrium.requireTrustedProxies" -}}
{{- if not (dig "server" "trustedProxies" list (default (dict) (index . 0).Values.config)) -}}
{{- fail (printf "config.server.trustedProxies: list the addresses of the proxy behind %s as the pods see them, for instance [10.0.0.0/8]; without them all clients count as one, and wrong passwords of one client lock all users out" (index . 1)) -}}
{{- end -}}
{{- end -}}

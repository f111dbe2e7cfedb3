{{/* Rights of the service's account as rows of a table, read from the roles that the chart makes: `include "atrium.rights" (list . settings)`,
with a dictionary of the templates and the settings for which they grant. Rows of a setting that is off are empty. */}}
{{- define "atrium.rights" -}}
{{- $root := index . 0 -}}
{{- range $file, $setting := index . 1 -}}
{{- range regexSplit "(?m)^---$" (include (printf "%s/%s" $root.Template.BasePath $file) $root) -1 -}}
{{- $role := fromYaml . -}}
{{- range $role.rules -}}
{{- $where := ternary "cluster" "namespace" (eq $role.kind "ClusterRole") -}}
{{- $what := default .nonResourceURLs .resources | join ", " -}}
{{- with .resourceNames -}}{{- $what = printf "%s: %s" $what (join ", " .) -}}{{- end -}}
{{- with compact (default list .apiGroups) -}}{{- if ne (first .) "*" -}}{{- $what = printf "%s (%s)" $what (join ", " .) -}}{{- end -}}{{- end }}
  {{ printf "%-27s %-9s  %-30s  %s" $setting $where (include "atrium.verbs" .verbs) $what }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Verbs, with a common prefix once. */}}
{{- define "atrium.verbs" -}}
{{- $prefix := regexFind "^.+:" (first .) -}}
{{- if and $prefix (gt (len .) 1) -}}
{{- $short := list -}}{{- range . -}}{{- $short = append $short (trimPrefix $prefix .) -}}{{- end -}}
{{ $prefix }}{{ "{" }}{{ join "," $short }}{{ "}" }}
{{- else -}}{{ join " " . }}{{- end -}}
{{- end -}}

{{- define "atrium.rightsHeader" -}}{{ printf "%-27s %-9s  %-30s  %s" "SETTING" "WHERE" "VERBS" "RESOURCES" }}{{- end -}}


{{/* The users of NATS, read from the permissions that `make generate` writes. */}}
{{- define "platform.users" -}}
{{- range regexFindAll "user: [a-z]+" (.Files.Get "files/users.conf") -1 }}{{ trimPrefix "user: " . }} {{ end }}
{{- end }}

{{/* Whether the cluster can be read. `helm template` and Argo CD render without it. */}}
{{- define "platform.canRead" -}}
{{- if lookup "v1" "Namespace" "" "default" }}true{{ end }}
{{- end }}

{{- define "platform.checks" -}}
{{- if and (not .Values.global.keys.existing) (not (include "platform.canRead" .)) }}
{{- $installation := .Values.global.installation }}
{{- $names := list (printf "%s-keys-nats" $installation) }}
{{- range splitList " " (include "platform.users" . | trim) }}{{ $names = append $names (printf "%s-keys-%s" $installation .) }}{{ end }}
{{- fail (printf "The cluster cannot be read here, so generated keys would change with every rendering. Create these Secrets (deploy/helm/README.md, \"Keys\"), and set global.keys.existing to true: %s" (join ", " $names)) }}
{{- end }}
{{- if gt (int .Values.nats.streamCopies) (int .Values.nats.replicas) }}
{{- fail (printf "nats.streamCopies is %d, and nats.replicas is %d: a stream has at most one copy per server." (int .Values.nats.streamCopies) (int .Values.nats.replicas)) }}
{{- end }}
{{- end }}

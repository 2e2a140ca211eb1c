{{- define "kit.deployment" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  {{- with include "kit.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  {{- if and .database (eq $values.global.store.type "sqlite") }}
  # Two processes cannot share a SQLite file.
  strategy:
    type: Recreate
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  {{- end }}
  selector:
    matchLabels:
      {{- include "kit.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "kit.selector" . | nindent 8 }}
      {{- with include "kit.settings" . }}
      annotations:
        checksum/settings: {{ . | sha256sum }}
      {{- end }}
    spec:
      {{- include "kit.pod" . | nindent 6 }}
{{- end }}

{{/*
The number of replicas. Beside an autoscaler it is the number of the running Deployment: if the field disappeared, Helm 3 would reset
it to one replica until the autoscaler acts.
*/}}
{{- define "kit.replicas" -}}
{{- if .root.Values.autoscaling.enabled -}}
{{- with lookup "apps/v1" "Deployment" .root.Release.Namespace (include "kit.name" .) }}{{ .spec.replicas }}{{ end -}}
{{- else -}}
{{ .root.Values.replicas }}
{{- end -}}
{{- end }}

{{/*
Names and labels. They use the name of the installation and never the name of the release, so that a service can move from the
umbrella chart to a release of its own without a new pod.

All templates of kit take a description of the service: (dict "root" $ "name" "sessions" …), written by `make generate`.
*/}}

{{- define "kit.name" -}}
{{ .root.Values.global.installation }}-{{ .name }}
{{- end }}

{{- define "kit.selector" -}}
app.kubernetes.io/name: switchyard
app.kubernetes.io/instance: {{ .root.Values.global.installation }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "kit.labels" -}}
{{ include "kit.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: switchyard
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "kit.metadata" -}}
name: {{ include "kit.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "kit.labels" . | nindent 2 }}
{{- end }}

{{/* The image of a service, or of another program such as `jobs` (the key `image` of the description). */}}
{{- define "kit.image" -}}
{{- $image := .root.Values.global.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .image | default .name }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* The Secret with the generated passwords of one NATS user. The platform chart creates it. */}}
{{- define "kit.keys" -}}
{{ .root.Values.global.installation }}-keys-{{ .user | default .name }}
{{- end }}

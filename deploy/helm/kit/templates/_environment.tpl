{{/* The environment of every process. Passwords are files in /run/keys. */}}
{{- define "kit.environment" -}}
{{- $values := .root.Values -}}
{{- $sqlite := eq $values.global.store.type "sqlite" -}}
{{- include "kit.busEnvironment" . }}
- { name: SWITCHYARD_BLOB_TOKEN_FILE, value: /run/keys/blob-token }
- { name: SWITCHYARD_CONFIG, value: '{{ if include "kit.settings" . }}/etc/switchyard/config.yaml{{ else }}:{{ end }}' }
- { name: SWITCHYARD_DATA, value: {{ if and .database $sqlite }}/data{{ else }}/tmp/switchyard{{ end }} }
- { name: SWITCHYARD_METRICS_PORT, value: '9464' }
- { name: SWITCHYARD_PROBE_HOST, value: 0.0.0.0 }
{{- if .keepsBlobs }}
- { name: SWITCHYARD_BLOB_HOST, value: 0.0.0.0 }
- { name: SWITCHYARD_BLOB_PORT, value: '{{ .ports.blobs }}' }
{{- if $sqlite }}
- { name: SWITCHYARD_BLOBS, value: 'file:/data/blobs' }
{{- else }}
- { name: SWITCHYARD_BLOBS_FILE, value: /run/keys/blobs-url }
{{- end }}
{{- else }}
- { name: SWITCHYARD_BLOBS, value: 'grpc://{{ $values.global.installation }}-{{ .blobKeeper }}:{{ .blobPort }}' }
{{- end }}
{{- if .database }}
{{- if $sqlite }}
- { name: SWITCHYARD_STORE, value: 'sqlite:/data/store' }
{{- else }}
- { name: SWITCHYARD_STORE_FILE, value: /run/keys/store-url }
{{- end }}
{{- end }}
{{- if and .cache $values.global.cache.existingSecret }}
- { name: SWITCHYARD_CACHE_FILE, value: /run/keys/cache-url }
{{- end }}
{{- range $name, $value := .variables }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- if .public }}
- { name: SWITCHYARD_GATEWAY__INSTALLED_SERVICES, value: '{{ include "kit.installedServices" . }}' }
{{- end }}
{{- with $values.publicUrl }}
- { name: SWITCHYARD_GATEWAY__PUBLIC_URL, value: {{ . | quote }} }
{{- end }}
{{- range $values.secretFiles }}
- { name: {{ .variable }}_FILE, value: /run/keys/{{ .variable }} }
{{- end }}
{{- range $name, $value := $values.environment }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "kit.installedServices" -}}
{{- $names := list -}}
{{- range $name, $installed := .root.Values.global.services }}{{ if $installed }}{{ $names = append $names $name }}{{ end }}{{ end -}}
{{ toJson $names }}
{{- end }}

{{- define "kit.busEnvironment" -}}
- { name: SWITCHYARD_BUS, value: '{{ include "kit.busUrl" . }}' }
- { name: SWITCHYARD_BUS_USER, value: {{ .user | default .name }} }
- { name: SWITCHYARD_BUS_PASSWORD_FILE, value: /run/keys/bus-password }
{{- end }}

{{- define "kit.busUrl" -}}
{{- $global := .root.Values.global -}}
{{ $global.bus.url | default (printf "nats://%s-nats:4222" $global.installation) }}
{{- end }}

{{/* The configuration file: the settings of all services, overridden by those of this one. Empty if there are none. */}}
{{- define "kit.settings" -}}
{{- $settings := mustMergeOverwrite (deepCopy .root.Values.global.settings) .root.Values.settings -}}
{{- if $settings }}{{ toYaml $settings }}{{ end -}}
{{- end }}

{{- define "kit.settingsMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "kit.name" . }}-settings
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kit.labels" . | nindent 4 }}
data:
  config.yaml: |
    {{- include "kit.settings" . | nindent 4 }}
{{- end }}

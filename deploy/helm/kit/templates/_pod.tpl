{{/* The specification of a pod: one place for security, environment, keys, probes and spread of every service. */}}
{{- define "kit.pod" -}}
{{- $values := .root.Values -}}
{{- $data := and .database (eq $values.global.store.type "sqlite") -}}
{{- include "kit.podDefaults" . }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kit.selector" $ | nindent 8 }}
  {{- end }}
containers:
  - name: {{ .name }}
    image: {{ include "kit.image" . }}
    imagePullPolicy: {{ $values.global.image.pullPolicy }}
    securityContext:
      {{- include "kit.containerSecurity" . | nindent 6 }}
    env:
      {{- include "kit.environment" . | nindent 6 }}
    ports:
      - { name: probes, containerPort: 9464 }
      {{- range $name, $port := .ports }}
      - { name: {{ $name }}, containerPort: {{ $port }} }
      {{- end }}
    # A first start creates indexes, and waits for the bus. A start that is ended early on a busy node only adds load.
    startupProbe:
      httpGet: { path: /livez, port: probes }
      periodSeconds: 1
      failureThreshold: 300
    livenessProbe:
      httpGet: { path: /livez, port: probes }
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: { path: /readyz, port: probes }
      periodSeconds: 2
      timeoutSeconds: 2
      failureThreshold: 2
    resources:
      {{- toYaml $values.resources | nindent 6 }}
    volumeMounts:
      - { name: temporary, mountPath: /tmp }
      - { name: keys, mountPath: /run/keys, readOnly: true }
      {{- if include "kit.settings" . }}
      - { name: settings, mountPath: /etc/switchyard, readOnly: true }
      {{- end }}
      {{- if $data }}
      - { name: data, mountPath: /data }
      {{- end }}
volumes:
  - name: temporary
    emptyDir: {}
  - name: keys
    projected:
      defaultMode: 0440
      sources:
        - secret: { name: {{ include "kit.keys" . }} }
        {{- include "kit.externalSecrets" . | nindent 8 }}
  {{- if include "kit.settings" . }}
  - name: settings
    configMap: { name: {{ include "kit.name" . }}-settings }
  {{- end }}
  {{- if $data }}
  - name: data
    persistentVolumeClaim: { claimName: {{ include "kit.name" . }} }
  {{- end }}
{{- end }}

{{- define "kit.podDefaults" -}}
{{- $global := .root.Values.global -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $global.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with $global.podSecurity.fsGroup }}
  fsGroup: {{ . }}
  {{- end }}
  {{- with (.root.Values.seccomp | default dict).localhostProfile }}
  seccompProfile: { type: Localhost, localhostProfile: {{ . | quote }} }
  {{- else }}
  seccompProfile: { type: RuntimeDefault }
  {{- end }}
{{- end }}

{{- define "kit.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Keys that the operator keeps in Secrets of their own: addresses of databases, and secrets of providers. */}}
{{- define "kit.externalSecrets" -}}
{{- $values := .root.Values -}}
{{- if and .database (eq $values.global.store.type "mongodb") }}
- secret:
    name: {{ $values.global.store.existingSecret }}
    items:
      - { key: {{ .name }}-store-url, path: store-url }
      {{- if .keepsBlobs }}
      - { key: blobs-url, path: blobs-url }
      {{- end }}
{{- end }}
{{- if and .cache $values.global.cache.existingSecret }}
- secret:
    name: {{ $values.global.cache.existingSecret }}
    items:
      - { key: cache-url, path: cache-url }
{{- end }}
{{- range $values.secretFiles }}
- secret:
    name: {{ .secret }}
    items:
      - { key: {{ .key }}, path: {{ .variable }} }
{{- end }}
{{- end }}

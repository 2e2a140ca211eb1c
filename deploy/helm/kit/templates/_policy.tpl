{{/* Denies both directions, and allows what the service needs. */}}
{{- define "kit.policy" -}}
{{- $global := .root.Values.global -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "kit.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- if not (or .ports $global.networkPolicy.monitoringNamespace) }} []{{ end }}
    {{- if .public }}
    - ports:
        {{- range $name, $port := .ports }}
        - { protocol: TCP, port: {{ $port }} }
        {{- end }}
      {{- with include "kit.policyClients" . }}
      from:
        {{- . | nindent 8 }}
      {{- end }}
    {{- else if .ports }}
    - from:
        - podSelector:
            matchLabels:
              {{- include "kit.members" . | nindent 14 }}
      ports:
        {{- range $name, $port := .ports }}
        - { protocol: TCP, port: {{ $port }} }
        {{- end }}
    {{- end }}
    {{- with include "kit.policyMonitoring" . }}{{ . | nindent 4 }}{{ end }}
  egress:
    {{- include "kit.policyDns" . | nindent 4 }}
    {{- with include "kit.policyBus" . }}{{ . | nindent 4 }}{{ end }}
    {{- if not .keepsBlobs }}
    - to:
        - podSelector:
            matchLabels:
              {{- include "kit.selector" (dict "root" .root "name" .blobKeeper) | nindent 14 }}
      ports:
        - { protocol: TCP, port: {{ .blobPort }} }
    {{- end }}
    {{- range $global.networkPolicy.databases }}
    - to:
        - ipBlock: { cidr: {{ .cidr }} }
      ports:
        - { protocol: TCP, port: {{ .port }} }
    {{- end }}
    {{- if .outside }}
    # Providers of models. Private addresses are never reached.
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
        - ipBlock:
            cidr: ::/0
            except: ['::1/128', 'fc00::/7', 'fe80::/10']
      ports:
        - { protocol: TCP, port: 443 }
    {{- end }}
{{- end }}

{{/*
Who may reach the gateways. An ingress controller or a Gateway may be anywhere, even outside of the cluster, so behind one everybody
may as long as `clients` is empty.
*/}}
{{- define "kit.policyClients" -}}
{{- $values := .root.Values -}}
{{- if or $values.clients (not (or $values.ingress.enabled $values.route.enabled)) }}
- podSelector:
    matchLabels:
      {{- include "kit.members" . | nindent 6 }}
- namespaceSelector: {}
  podSelector:
    matchLabels: { switchyard-client: {{ $values.global.installation }} }
{{- range $values.clients }}
{{- if .cidr }}
- ipBlock: { cidr: {{ .cidr | quote }} }
{{- end }}
{{- if .namespace }}
- namespaceSelector:
    matchLabels: { kubernetes.io/metadata.name: {{ .namespace }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The labels of every pod of the installation. */}}
{{- define "kit.members" -}}
app.kubernetes.io/name: switchyard
app.kubernetes.io/instance: {{ .root.Values.global.installation }}
{{- end }}

{{- define "kit.policyMonitoring" -}}
{{- with .root.Values.global.networkPolicy.monitoringNamespace }}
- from:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ . }} }
  ports:
    - { protocol: TCP, port: 9464 }
{{- end }}
{{- end }}

{{/* Answers that do not fit a datagram are asked for by TCP. */}}
{{- define "kit.policyDns" -}}
- to:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ .root.Values.global.networkPolicy.dnsNamespace }} }
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{/* An external NATS is one of `networkPolicy.databases`. */}}
{{- define "kit.policyBus" -}}
{{- if not .root.Values.global.bus.url }}
- to:
    - podSelector:
        matchLabels:
          {{- include "kit.selector" (dict "root" .root "name" "nats") | nindent 10 }}
  ports:
    - { protocol: TCP, port: 4222 }
{{- end }}
{{- end }}

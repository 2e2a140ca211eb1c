{{/* The name under which a service is found. Only the gateways are balanced; replicas of other services are addressed one by one. */}}
{{- define "kit.serviceObject" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  {{- if not .public }}
  clusterIP: None
  {{- end }}
  selector:
    {{- include "kit.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - { name: {{ $name }}, port: {{ $port }}, targetPort: {{ $name }} }
    {{- end }}
    - { name: probes, port: 9464, targetPort: probes }
{{- end }}

{{/* A drain of a node ends one pod at a time, and is not held up by a pod that is not ready. */}}
{{- define "kit.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "kit.selector" . | nindent 6 }}
{{- end }}

{{- define "kit.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
  annotations:
    helm.sh/resource-policy: keep
spec:
  accessModes: [ReadWriteOnce]
  {{- with .root.Values.persistence.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests: { storage: {{ .root.Values.persistence.size }} }
{{- end }}

{{- define "kit.autoscaler" -}}
{{- $autoscaling := .root.Values.autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "kit.name" . }} }
  minReplicas: {{ $autoscaling.minReplicas }}
  maxReplicas: {{ $autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ $autoscaling.cpuPercent }} } }
{{- end }}

{{- define "kit.monitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  selector:
    matchLabels:
      {{- include "kit.selector" . | nindent 6 }}
  podMetricsEndpoints:
    - { port: probes, path: /metrics, interval: 15s }
{{- end }}

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
    {{- with $autoscaling.waitingTurns }}
    - type: External
      external: { metric: { name: switchyard_turn_waiting }, target: { type: AverageValue, averageValue: '{{ . }}' } }
    {{- end }}
{{- end }}

{{/* KEDA creates the autoscaler. Every replica reports the same number of waiting turns. */}}
{{- define "kit.scaledObject" -}}
{{- $autoscaling := .root.Values.autoscaling -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "kit.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "kit.name" . }} }
  minReplicaCount: {{ $autoscaling.minReplicas }}
  maxReplicaCount: {{ $autoscaling.maxReplicas }}
  # Without an answer of Prometheus, replicas are not removed.
  fallback: { failureThreshold: 3, replicas: {{ $autoscaling.minReplicas }}, behavior: currentReplicasIfHigher }
  triggers:
    - type: cpu
      metricType: Utilization
      metadata: { value: '{{ $autoscaling.cpuPercent }}' }
    - type: prometheus
      metadata:
        serverAddress: {{ $autoscaling.keda.prometheus | quote }}
        query: max(switchyard_turn_waiting)
        threshold: '{{ $autoscaling.waitingTurns }}'
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

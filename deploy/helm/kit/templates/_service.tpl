{{/* All objects of a service. */}}
{{- define "kit.service" -}}
{{- include "kit.checks" . -}}
{{- $values := .root.Values -}}
{{- include "kit.deployment" . }}
---
{{ include "kit.serviceObject" . }}
---
{{ include "kit.budget" . }}
{{- if include "kit.settings" . }}
---
{{ include "kit.settingsMap" . }}
{{- end }}
{{- if and .database (eq $values.global.store.type "sqlite") }}
---
{{ include "kit.claim" . }}
{{- end }}
{{- if $values.autoscaling.enabled }}
---
{{- if dig "keda" "enabled" false $values.autoscaling }}
{{ include "kit.scaledObject" . }}
{{- else }}
{{ include "kit.autoscaler" . }}
{{- end }}
{{- end }}
{{- if $values.global.networkPolicy.enabled }}
---
{{ include "kit.policy" . }}
{{- end }}
{{- if $values.global.monitoring.enabled }}
---
{{ include "kit.monitor" . }}
{{- end }}
{{- end }}

{{/* Values that would lose data or open the installation are refused with the remedy. */}}
{{- define "kit.checks" -}}
{{- $values := .root.Values -}}
{{- $sqlite := and .database (eq $values.global.store.type "sqlite") -}}
{{- if and $sqlite (gt (int $values.replicas) 1) }}
{{- fail (printf "%s: SQLite allows one replica, and replicas is %d. Set global.store.type to mongodb." .name (int $values.replicas)) }}
{{- end }}
{{- if and $sqlite $values.autoscaling.enabled }}
{{- fail (printf "%s: SQLite allows one replica, and autoscaling is enabled. Set global.store.type to mongodb." .name) }}
{{- end }}
{{- if and .database (eq $values.global.store.type "mongodb") (not $values.global.store.existingSecret) }}
{{- fail (printf "%s: global.store.type is mongodb, and global.store.existingSecret is empty. Name a Secret with the key %s-store-url." .name .name) }}
{{- end }}
{{- if and $values.autoscaling.enabled (gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas)) }}
{{- fail (printf "%s: autoscaling.minReplicas (%d) exceeds autoscaling.maxReplicas (%d)." .name (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas)) }}
{{- end }}
{{- if dig "keda" "enabled" false $values.autoscaling }}
{{- if not (and $values.autoscaling.waitingTurns $values.autoscaling.keda.prometheus) }}
{{- fail (printf "%s: autoscaling.keda.enabled needs autoscaling.waitingTurns and autoscaling.keda.prometheus." .name) }}
{{- end }}
{{- end }}
{{- include "kit.checkPlatform" . }}
{{- end }}

{{/* A service that needs a newer platform is refused before a pod is replaced. Without access to a cluster nothing is compared. */}}
{{- define "kit.checkPlatform" -}}
{{- $needed := index .root.Chart.Annotations "switchyard/platform" -}}
{{- $name := printf "%s-platform" .root.Values.global.installation -}}
{{- $platform := lookup "v1" "ConfigMap" .root.Release.Namespace $name -}}
{{- if $platform }}
{{- $installed := index $platform.data "version" -}}
{{- if not (semverCompare (printf ">=%s-0" $needed) $installed) }}
{{- fail (printf "%s %s needs the platform %s or newer, and %s is installed. Upgrade the release of switchyard-platform first." .root.Chart.Name .root.Chart.Version $needed $installed) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Behind an ingress or a route, access tokens travel over the internet. */}}
{{- define "gateway.checkExposure" -}}
{{- $settings := mustMergeOverwrite (deepCopy .Values.global.settings) .Values.settings -}}
{{- if dig "gateway" "allowInsecureHttp" false $settings }}
{{- fail "gateway: settings.gateway.allowInsecureHttp is true, and an ingress or a route is enabled: access tokens must not travel without TLS." }}
{{- end }}
{{- if hasPrefix "http://" .Values.publicUrl }}
{{- fail (printf "gateway: publicUrl is %s, and an ingress or a route is enabled: clients would send access tokens without TLS. Use https." .Values.publicUrl) }}
{{- end }}
{{- end }}

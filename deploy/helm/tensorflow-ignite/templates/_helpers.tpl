{{- define "tensorflow-ignite.selector" -}}
app.kubernetes.io/name: tensorflow-ignite
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tensorflow-ignite.labels" -}}
{{ include "tensorflow-ignite.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

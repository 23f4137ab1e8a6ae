{{/* What each process needs beside its settings, PostgreSQL and Redis. */}}
{{- define "docket.processes" -}}
api: { signingKeys: true, laneKeys: true, session: true, exports: true }
inference: { laneKeys: true }
receipts: { signingKeys: true, laneKeys: true, signs: true }
ledger: { signingKeys: true, signs: true }
recalculation: { signingKeys: true, signs: true }
exports: { signingKeys: true, exports: true, signs: true }
purge: { exports: true }
housekeeping: {}
{{- end }}

{{- define "docket.name" -}}
{{- printf "%s-docket" .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "docket.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "docket.labels" -}}
app.kubernetes.io/name: docket
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "docket.allLabels" -}}
{{ include "docket.labels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Nothing to write to, no capability, none to gain. */}}
{{- define "docket.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The user of the image; secrets are mounted for its group alone. */}}
{{- define "docket.user" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

export type AlertLevel = 'warning' | 'critical'

"""One model of a run below every interface: its data, its steps, its record, its folder."""

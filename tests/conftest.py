"""What all tests share: time never decides one, and a failure comes back on the next run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "discernmem",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("discernmem")
